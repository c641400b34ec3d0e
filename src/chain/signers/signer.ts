import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hexToBytes, keccak256 } from 'viem/utils'

import { BaseError, ImpossibleError } from '../../base/errors.ts'
import {
  assemble,
  payloadOf,
  readSignature,
  type SignedTransaction,
  type TransactionRequest,
} from '../proof/transaction.ts'
import { signDigest, type SignatureNumbers } from './secp256k1.ts'

/** One account that signs. It never chooses anything: nonce, fees and gas are the request's. */
export type Signer = {
  address: Address
  /** Fails rather than return anything else than the request, signed by the address. */
  sign: (request: TransactionRequest, signal: AbortSignal) => Promise<SignedTransaction>
  /**
   * Signs typed data (EIP-712). The payload is the bytes that are hashed: 1901, the domain and the
   * data. No transaction begins with these bytes.
   */
  signTyped: (payload: Hex, signal: AbortSignal) => Promise<SignatureNumbers>
}

/** All accounts that the platform signs with. */
export type Signers = {
  kind: 'seed' | 'keystore' | 'web3signer' | 'aws-kms' | 'gcp-kms' | 'own'
  /** Whether the keys are in this process, so that nothing is waited for. */
  areHere: boolean
  /** How many there are; a seed has more than anybody needs. */
  count: number
  /** The signer at a place, from 0. Throws where there is none. */
  at: (index: number) => Signer
  /** Adds the signers that were added to the file since, where a file lists them. */
  refresh?: (signal: AbortSignal) => Promise<void>
}

/** Where the signature itself comes from: of the keccak256 of the payload, in 65 bytes. */
export type SignPayload = (payload: Hex, signal: AbortSignal) => Promise<Hex>

/** Makes every signer, so that each signature is checked, whichever key store made it. */
export function createSigner(deps: { address: Address; signPayload: SignPayload }): Signer {
  const { address, signPayload } = deps
  return {
    address,
    async sign(request, signal) {
      const signature = await signPayload(payloadOf(request), signal)
      return assemble({ request, signature, address })
    },
    async signTyped(payload, signal) {
      if (!payload.startsWith('0x1901')) throw new ImpossibleError('this is not typed data')
      return readSignature(await signPayload(payload, signal), { payload, address })
    },
  }
}

/** Signs in this process. The key stays in the closure and is in no property. */
export function createKeySigner(privateKey: Hex): Signer {
  const { address } = privateKeyToAccount(privateKey)
  const key = hexToBytes(privateKey)
  return createSigner({
    address,
    signPayload: async (payload) => signDigest(keccak256(payload), key),
  })
}

/** A fixed list of signers. */
export function listSigners(kind: Signers['kind'], list: readonly Signer[]): Signers {
  return {
    kind,
    areHere: kind === 'seed' || kind === 'keystore',
    count: list.length,
    at(index) {
      const signer = list[index]
      if (signer === undefined) throw new SignerMissingError(index, list.length, kind)
      return signer
    },
  }
}

export class SignerMissingError extends BaseError {
  constructor(index: number, count: number, kind?: Signers['kind']) {
    const setting = kind === 'own' ? '`signers` of startApp' : 'QUITTANCE_SIGNER'
    super(`${setting} has ${count} signers and no signer ${index}. Add one.`, {
      code: 'signer_missing',
      details: { index, count },
    })
  }
}
