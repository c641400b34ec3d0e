import { createPublicKey, type KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import type { KMSClient } from '@aws-sdk/client-kms'
import type { GoogleAuth } from 'google-auth-library'
import type { Address, Hex } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { hexToBytes, keccak256 } from 'viem/utils'

import { BaseError, codeOf, messageOf } from '../../base/errors.ts'
import { groupsOf } from '../../base/groups.ts'
import { limits } from '../../base/limits.ts'
import { recoverSigner } from './secp256k1.ts'
import { createSigner, listSigners, type Signer, type Signers } from './signer.ts'

/** What a key management service is asked for. Neither answer is believed before it is checked. */
type Kms = {
  /** The public key as X.509 SubjectPublicKeyInfo. */
  publicKeyOf: (key: string, signal: AbortSignal) => Promise<KeyObject>
  /** The signature of the digest, in DER. */
  sign: (key: string, digest: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>
}

export type KmsOptions = {
  kind: 'aws-kms' | 'gcp-kms'
  keys: readonly string[]
  /** Where the service is; absent, where its client finds it. */
  url: string | undefined
  signal: AbortSignal
}

/** Signers whose keys never leave AWS KMS or Google Cloud KMS. */
export async function connectKms({ kind, keys, url, signal }: KmsOptions): Promise<Signers> {
  const kms = kind === 'aws-kms' ? await openAws(url) : await openGoogle(keys, url)
  type Work<T> = (within: AbortSignal) => Promise<T>
  const ask = <T>(of: { key: string; limitMs: number }, work: Work<T>, until: AbortSignal) =>
    asking({ kind, ...of }, work, until)
  const connect = async (key: string): Promise<Signer> => {
    const publicKey = await ask(
      { key, limitMs: KEY_MS },
      (within) => kms.publicKeyOf(key, within),
      signal,
    )
    const address = addressOf(publicKey, key)
    return createSigner({
      address,
      async signPayload(payload, signal) {
        const digest = keccak256(payload)
        const der = await ask(
          { key, limitMs: limits.signerTimeoutMs },
          (within) => kms.sign(key, hexToBytes(digest), within),
          signal,
        )
        return signatureFrom(der, { digest, address, key })
      },
    })
  }
  const signers: Signer[] = []
  for (const some of groupsOf(keys, AT_ONCE)) {
    signers.push(...(await Promise.all(some.map(connect))))
  }
  return listSigners(kind, signers)
}

/** Nobody waits for a key but the start, which would fail as a whole for one that is slow. */
const KEY_MS = 30_000

/** Services limit how many requests they take in a second. */
const AT_ONCE = 20

async function openAws(endpoint: string | undefined): Promise<Kms> {
  const name = '@aws-sdk/client-kms'
  const { KMSClient, GetPublicKeyCommand, SignCommand } = await import('@aws-sdk/client-kms').catch(
    (error: unknown) => {
      throw clientMissing(name, error)
    },
  )
  const clients = new Map<string, KMSClient>()
  const clientOf = (key: string): KMSClient => {
    // A full name of a key says where the key is; otherwise AWS_REGION does.
    const region = /^arn:[^:]+:kms:([^:]+):/.exec(key)?.[1]
    const known = clients.get(region ?? '')
    if (known !== undefined) return known
    const client = new KMSClient({ ...(region && { region }), ...(endpoint && { endpoint }) })
    clients.set(region ?? '', client)
    return client
  }
  return {
    async publicKeyOf(key, abortSignal) {
      const asked = new GetPublicKeyCommand({ KeyId: key })
      const { PublicKey } = await clientOf(key).send(asked, { abortSignal })
      return readKey(key, { key: Buffer.from(PublicKey ?? []), format: 'der', type: 'spki' })
    },
    async sign(key, digest, abortSignal) {
      const how = { MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' } as const
      const asked = new SignCommand({ KeyId: key, Message: digest, ...how })
      const { Signature } = await clientOf(key).send(asked, { abortSignal })
      return Signature ?? new Uint8Array()
    },
  }
}

/** By its REST interface, since the whole client brings gRPC with it. */
async function openGoogle(
  keys: readonly string[],
  url = 'https://cloudkms.googleapis.com',
): Promise<Kms> {
  const { GoogleAuth } = await import('google-auth-library').catch((error: unknown) => {
    throw clientMissing('google-auth-library', error)
  })
  // A key says its project; otherwise the client runs gcloud to find one.
  const projectId = keys[0]?.split('/')[1] ?? ''
  const scopes = 'https://www.googleapis.com/auth/cloudkms'
  const auth: GoogleAuth = new GoogleAuth({ scopes, projectId })
  const base = url.replace(/\/$/, '')
  const ask = async (path: string, signal: AbortSignal, data?: object) => {
    const method = data === undefined ? 'GET' : 'POST'
    const how = { method, signal, responseType: 'json', ...(data && { data }) } as const
    const asked = { url: `${base}/v1/${path}`, ...how }
    return (await auth.request<Record<string, unknown>>(asked)).data
  }
  return {
    async publicKeyOf(key, signal) {
      const { pem } = await ask(`${key}/publicKey`, signal)
      return readKey(key, String(pem))
    },
    async sign(key, digest, signal) {
      // The service does not hash: it signs whatever 32 bytes it is given.
      const sha256 = Buffer.from(digest).toString('base64')
      const { signature } = await ask(`${key}:asymmetricSign`, signal, { digest: { sha256 } })
      return Buffer.from(String(signature), 'base64')
    },
  }
}

async function asking<T>(
  of: { kind: Signers['kind']; key: string; limitMs: number },
  work: (within: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(of.limitMs)])
  for (let tries = 1; ; tries++) {
    try {
      return await work(within)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof BaseError) throw error
      const failure = failed(of, error)
      if (!failure.retryable || within.aborted || tries === TRIES) throw failure
      // What limits its requests asks for patience, and the time that a signature has goes on.
      const waiting = sleep(FIRST_WAIT_MS * 4 ** (tries - 1), undefined, { signal: within })
      await waiting.catch(() => undefined)
    }
  }
}

const TRIES = 3
const FIRST_WAIT_MS = 100

function readKey(key: string, text: Parameters<typeof createPublicKey>[0]): KeyObject {
  try {
    return createPublicKey(text)
  } catch (error) {
    throw keyWrong(key, 'its public key cannot be read', error)
  }
}

function addressOf(publicKey: KeyObject, key: string): Address {
  const { asymmetricKeyDetails } = publicKey
  if (asymmetricKeyDetails?.namedCurve !== 'secp256k1') {
    throw keyWrong(key, 'it is not on the curve secp256k1 (ECC_SECG_P256K1)')
  }
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const point = [x, y].map((text) => Buffer.from(text, 'base64url').toString('hex'))
  return publicKeyToAddress(`0x04${point.join('')}`)
}

type Signed = { digest: Hex; address: Address; key: string }

/** DER does not say which of two points it was, and services give the larger s as often. */
function signatureFrom(der: Uint8Array, { digest, address, key }: Signed): Hex {
  const numbers = numbersIn(Buffer.from(der))
  if (numbers === undefined) throw keyWrong(key, 'its signature is not in DER')
  const [r, given] = numbers
  if ([r, given].some((number) => number < 1n || number >= ORDER)) {
    throw keyWrong(key, 'its signature has a number that the curve does not have')
  }
  const s = given > ORDER / 2n ? ORDER - given : given
  for (const yParity of [0, 1]) {
    const tried = { r: word(r), s: word(s), yParity }
    if (recoverSigner(digest, tried) === address) {
      return `${tried.r}${tried.s.slice(2)}${(27 + yParity).toString(16)}`
    }
  }
  throw keyWrong(key, 'its signature is not by the key that it showed')
}

/** How many points the curve has. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

function word(number: bigint): Hex {
  return `0x${number.toString(16).padStart(64, '0')}`
}

/** A sequence of two integers and nothing else. */
function numbersIn(der: Buffer): [bigint, bigint] | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined
  const r = integerAt(der, 2)
  const s = r && integerAt(der, r.end)
  return r !== undefined && s?.end === der.length ? [r.value, s.value] : undefined
}

function integerAt(der: Buffer, at: number): { value: bigint; end: number } | undefined {
  const end = at + 2 + (der[at + 1] ?? 0)
  const digits = der.subarray(at + 2, end)
  // A first digit above 0x7f is a negative number, of which there are none here.
  if (der[at] !== 0x02 || end > der.length || !(digits[0]! <= 0x7f)) return undefined
  return { value: BigInt(`0x${digits.toString('hex')}`), end }
}

function clientMissing(name: string, cause: unknown): KmsError {
  return new KmsError(
    `QUITTANCE_SIGNER names a key management service, whose client is not installed. Run: npm install ${name}`,
    { code: 'signer_client_missing', cause },
  )
}

function keyWrong(key: string, reason: string, cause?: unknown): KmsError {
  return new KmsError(
    `The key ${key} cannot sign for Ethereum: ${reason}. Nothing was sent; correct QUITTANCE_SIGNER.`,
    { code: 'signer_key_wrong', cause, details: { key } },
  )
}

/** What the service refuses stays refused; what is its own fault, or the network's, may pass. */
function failed({ kind, key }: { kind: string; key: string }, cause: unknown): KmsError {
  const { name, $metadata, response } = cause as {
    name?: string
    $metadata?: { httpStatusCode?: number }
    response?: { status?: number }
  }
  const status = $metadata?.httpStatusCode ?? response?.status
  // AWS says with status 400 that it limits requests.
  const isLimited = status === 429 || /Throttl|TooManyRequests|RequestLimit/.test(name ?? '')
  const retryable = status === undefined || isLimited || status >= 500
  return new KmsError(
    `${kind} did not sign with ${key}: ${messageOf(cause)}. Check it; nothing was sent.`,
    { code: 'signer_failed', retryable, cause, details: { key, reason: codeOf(cause) } },
  )
}

class KmsError extends BaseError {
  override readonly name = 'KmsError'
}
