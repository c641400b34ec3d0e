import type { Address, Hex } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { getAddress, isAddressEqual } from 'viem/utils'

import { BaseError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { exchangeByNode } from '../rpc/http-node.ts'
import { HttpError, type HttpAnswer } from '../rpc/http.ts'
import { nameOfProvider } from '../rpc/rpc.ts'
import { createSigner, listSigners, type Signer, type Signers } from './signer.ts'

export type Web3SignerOptions = {
  url: string
  addresses: readonly Address[]
  signal: AbortSignal
  timeoutMs?: number
}

/**
 * Signers whose keys a Web3Signer keeps (an HSM, a KMS or a vault behind it). It finds keys by
 * public key, so each address is looked up in its list first.
 */
export async function connectWeb3Signer(options: Web3SignerOptions): Promise<Signers> {
  const keys = await listKeys(options)
  const signers = options.addresses.map((address): Signer => {
    const key = keys.find((candidate) => isAddressEqual(candidate.address, address))
    if (key === undefined) throw keyMissing(options.url, address)
    return createSigner({
      address: getAddress(address),
      signPayload: (payload, signal) =>
        askForSignature({ ...options, signal, identifier: key.identifier, payload }),
    })
  })
  return listSigners('web3signer', signers)
}

type Key = { identifier: string; address: Address }

async function listKeys(options: Web3SignerOptions): Promise<Key[]> {
  const { text } = await ask(options, { path: 'api/v1/eth1/publicKeys' })
  const list = parseList(options.url, text)
  return list.flatMap((identifier): Key[] => {
    const digits = /^0x(?:04)?([0-9a-f]{128})$/i.exec(identifier)?.[1]
    return digits ? [{ identifier, address: publicKeyToAddress(`0x04${digits}`) }] : []
  })
}

function parseList(url: string, text: string): string[] {
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list
  } catch {
    // Falls through: what is not JSON is refused like another kind of JSON.
  }
  throw failed(url, 'its list of public keys cannot be read')
}

async function askForSignature(
  options: Omit<Web3SignerOptions, 'addresses'> & { identifier: string; payload: Hex },
): Promise<Hex> {
  const path = `api/v1/eth1/sign/${options.identifier}`
  const { text } = await ask(options, { path, json: { data: options.payload } })
  const signature = text.trim().replaceAll('"', '')
  if (/^0x[0-9a-f]{130}$/i.test(signature)) return signature as Hex
  throw failed(options.url, 'its answer is not a signature')
}

async function ask(
  options: Pick<Web3SignerOptions, 'url' | 'signal' | 'timeoutMs'>,
  request: { path: string; json?: object },
): Promise<HttpAnswer> {
  const { url, signal, timeoutMs = limits.signerTimeoutMs } = options
  const { path, json } = request
  const base = url.endsWith('/') ? url : `${url}/`
  try {
    const answer = await exchangeByNode({
      url: new URL(path, base).href,
      ...(json && { json }),
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      signal,
    })
    if (answer.ok) return answer
    throw failed(url, `HTTP status ${answer.status}`, answer.status >= 500)
  } catch (error) {
    if (error instanceof HttpError) throw failed(url, error.message, error.retryable)
    throw error
  }
}

const MAX_ANSWER_BYTES = 1024 * 1024

function failed(url: string, reason: string, retryable = false): Web3SignerError {
  return new Web3SignerError(
    `The signer at ${nameOfProvider(url)} did not sign: ${reason}. Check it; nothing was sent.`,
    { code: 'signer_failed', retryable, details: { signer: nameOfProvider(url) } },
  )
}

function keyMissing(url: string, address: Address): Web3SignerError {
  return new Web3SignerError(
    `The signer at ${nameOfProvider(url)} has no key of ${address}. Correct QUITTANCE_SIGNER, or give it the key.`,
    { code: 'signer_key_missing', details: { address } },
  )
}

class Web3SignerError extends BaseError {
  override readonly name = 'Web3SignerError'
}
