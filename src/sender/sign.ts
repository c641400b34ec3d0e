import { encodeFunctionData, parseAbi } from 'viem/utils'

import { BaseError, ImpossibleError, codeOf } from '../base/errors.ts'
import { referenceDollarAbi, settlementAbi } from '../bindings/abis.ts'
import { burnCalldata } from '../chain/burn.ts'
import {
  decodeTransaction,
  firstDifference,
  readTransaction,
  type TransactionRequest,
} from '../chain/proof/transaction.ts'
import type { SignatureNumbers } from '../chain/signers/secp256k1.ts'
import { weiOf, type BundleRoute, type Fees, type Hex, type Order } from '../domain/orders.ts'

/** What a transaction does, independent of its signer and its cost. */
export type Call = { to: Hex; value: bigint; data: Hex }

export type UnsignedTransaction = Call & {
  chainId: number
  nonce: bigint
  gas: bigint
  fees: Fees
}

/** Signs typed data (EIP-712), of which the payload is what is hashed. */
export type SignTyped = (signer: Hex, payload: Hex) => Promise<SignatureNumbers>

/** Signs as the address; the key may be here, or behind a service. */
export type SignTransaction = (signer: Hex, transaction: UnsignedTransaction) => Promise<Hex>

export type Signed = { raw: Hex; hash: Hex }

/**
 * Signs, and checks what came back: from here on the bytes are trusted, and prove the payee and the
 * amount of a direct payment, which no receipt carries.
 */
export async function signChecked(
  sign: SignTransaction,
  signer: Hex,
  transaction: UnsignedTransaction,
): Promise<Signed> {
  const raw = await sign(signer, transaction)
  const hash = hashOfSigned(raw, { signer, wanted: transaction })
  if (hash === undefined) throw wrongSignature(signer)
  return { raw, hash }
}

type PaymentCall = Pick<
  Order,
  'route' | 'contract' | 'token' | 'reference' | 'payee' | 'amount' | 'calldata'
>

export function paymentCall(payment: PaymentCall): Call {
  const { route, contract, token, reference, payee, amount } = payment
  switch (route) {
    case 'direct':
      return { to: payee, value: amount, data: '0x' }
    case 'contract': {
      if (contract === undefined)
        throw new ImpossibleError('the schema has a contract on this route')
      const data = encodeFunctionData({
        abi: settlementAbi,
        functionName: 'settle',
        args: [reference, payee],
      })
      return { to: contract, value: amount, data }
    }
    case 'token': {
      if (contract === undefined || token === undefined) {
        throw new ImpossibleError('the schema has a contract and a token on this route')
      }
      const data = encodeFunctionData({
        abi: settlementAbi,
        functionName: 'settleToken',
        args: [reference, token, payee, amount],
      })
      return { to: contract, value: 0n, data }
    }
    case 'transfer': {
      if (contract === undefined)
        throw new ImpossibleError('the schema has a contract on this route')
      return { to: contract, value: 0n, data: tokenCall('transfer', payee, amount) }
    }
    case 'allowance': {
      if (contract === undefined)
        throw new ImpossibleError('the schema has a contract on this route')
      return { to: contract, value: 0n, data: tokenCall('approve', payee, amount) }
    }
    case 'mint': {
      if (contract === undefined)
        throw new ImpossibleError('the schema has a contract on this route')
      const { calldata } = payment
      const data =
        calldata ??
        encodeFunctionData({
          abi: referenceDollarAbi,
          functionName: 'mintWithMemo',
          args: [payee, amount, reference],
        })
      return { to: contract, value: 0n, data }
    }
    case 'burn': {
      if (contract === undefined)
        throw new ImpossibleError('the schema has a contract on this route')
      return { to: contract, value: 0n, data: burnCalldata({ amount, memo: reference }) }
    }
    case 'permit':
    case 'bundle':
    case 'open_bundle':
    case 'token_bundle':
    case 'open_token_bundle': {
      const { calldata } = payment
      if (contract === undefined || calldata === undefined) {
        throw new ImpossibleError('the schema has a contract and its calldata on this route')
      }
      return { to: contract, value: weiOf(payment), data: calldata }
    }
    default:
      return route satisfies never
  }
}

/** What USDC is called with to mint: it has no place for a memo. */
export function plainMintCalldata({ payee, amount }: Pick<Order, 'payee' | 'amount'>): Hex {
  return encodeFunctionData({ abi: PLAIN_MINT, functionName: 'mint', args: [payee, amount] })
}

const PLAIN_MINT = parseAbi(['function mint(address to, uint256 amount) returns (bool)'])

/** A permit of ERC-2612 with its signature. */
export type SignedPermit = { deadline: bigint; v: number; r: Hex; s: Hex }

type PermitPayment = Pick<Order, 'reference' | 'payee' | 'amount'> & { contract: Hex; token: Hex }

/** Pays by the permit, in one transaction. */
export function permitCall(payment: PermitPayment, permit: SignedPermit): Call {
  const { contract, reference, token, payee, amount } = payment
  const { deadline, v, r, s } = permit
  const data = encodeFunctionData({
    abi: settlementAbi,
    functionName: 'settleWithPermit',
    args: [reference, token, payee, amount, { deadline, v, r, s }],
  })
  return { to: contract, value: 0n, data }
}

/** What a bundle calls the contract with, once its payments have their references. */
export function bundleCalldata(
  { route, token }: { route: BundleRoute; token: Hex | undefined },
  payments: ReadonlyArray<Pick<Order, 'reference' | 'payee' | 'amount'>>,
): Hex {
  const references = payments.map(({ reference }) => reference)
  const payees = payments.map(({ payee }) => payee)
  const amounts = payments.map(({ amount }) => amount)
  const abi = settlementAbi
  switch (route) {
    case 'bundle':
      return encodeFunctionData({
        abi,
        functionName: 'settleBatch',
        args: [references, payees, amounts],
      })
    case 'open_bundle':
      return encodeFunctionData({
        abi,
        functionName: 'settleBatchPartial',
        args: [references, payees, amounts],
      })
    case 'token_bundle':
    case 'open_token_bundle': {
      if (token === undefined) throw new ImpossibleError('a bundle of this route has a token')
      return encodeFunctionData({
        abi,
        functionName: route === 'token_bundle' ? 'settleTokenBatch' : 'settleTokenBatchPartial',
        args: [references, token, payees, amounts],
      })
    }
    default:
      return route satisfies never
  }
}

export function tokenCall(functionName: 'approve' | 'transfer', to: Hex, amount: bigint): Hex {
  return encodeFunctionData({ abi: referenceDollarAbi, functionName, args: [to, amount] })
}

/** To oneself and worth nothing: it only takes the nonce. */
export function emptyCall(signer: Hex): Call {
  return { to: signer, value: 0n, data: '0x' }
}

export const EMPTY_CALL_GAS = 21_000n

/** Undefined unless the bytes make exactly this call, signed by whom it is asked of. */
function hashOfSigned(
  raw: Hex,
  { signer, wanted }: { signer: Hex; wanted: UnsignedTransaction },
): Hex | undefined {
  const found = ifReadable(() => decodeTransaction(raw))
  if (found === undefined || !isCall(found, wanted)) return undefined
  return found.from.toLowerCase() === signer ? found.hash : undefined
}

/**
 * Whether the bytes are those under the hash, and make exactly this call. Who signed what is mined
 * under the hash, the chain itself has checked.
 */
export function isBehind({ hash, raw }: Signed, wanted: UnsignedTransaction): boolean {
  const found = ifReadable(() => readTransaction(raw))
  return found !== undefined && isCall(found, wanted) && found.hash === hash
}

function isCall(found: TransactionRequest, { nonce, fees, ...call }: UnsignedTransaction): boolean {
  return firstDifference(found, { ...call, nonce: Number(nonce), ...fees }) === undefined
}

function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (codeOf(error) === 'transaction_unreadable') return undefined
    throw error
  }
}

function wrongSignature(signer: Hex): BaseError {
  return new BaseError(
    `The signature for ${signer} is for another transaction, so nothing was sent. Check QUITTANCE_SIGNER.`,
    { code: 'signature_wrong', details: { signer } },
  )
}
