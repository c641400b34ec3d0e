import { settlementAddress } from '../bindings/addresses.ts'
import type { Hex } from '../chain/hex.ts'
import {
  addressField,
  amountField,
  chainIdField,
  checkOptions,
  hashField,
  optional,
  windowField,
  type BaseClaim,
  type VerifyOptions,
} from './claim.ts'
import { judge, type Case } from './judge.ts'
import { expectedPayment, type PaymentClaim } from './payment-claim.ts'
import type { Verdict } from './verdict.ts'

/** What a record says of a transaction. What it leaves out is not checked. */
export type TransactionClaim = BaseClaim &
  PaymentClaim & {
    hash: string
    /** The recorded nonce, which distinguishes a replaced transaction from a missing one. */
    nonce?: bigint | undefined
  }

/** What a record says of an order that was paid through the settlement contract. */
export type SettlementClaim = BaseClaim & {
  hash: string
  reference: string
  payer?: string | undefined
  payee: string
  amount: bigint
  /** The ERC-20 that was paid; null for native coin. */
  token: string | null
  /** The settlement contract; absent for the address that it has on every chain. */
  contract?: string | undefined
  nonce?: bigint | undefined
}

/**
 * Whether a transaction is in the chain, final, successful, and pays what the record says.
 *
 * @example
 *   ```ts
 *   import { plainProvider, verifyTransaction } from 'quittance/verify'
 *
 *   const providers = [plainProvider('https://one.example'), plainProvider('https://two.example')]
 *   const payee = '0x00000000000000000000000000000000000000AA'
 *   const hash = `0x${'00'.repeat(32)}`
 *   const claim = { chainId: 1, hash, payee, amount: 250_000_000_000_000_000n }
 *   const { status, disagreements } = await verifyTransaction(claim, { providers })
 *   console.log(status, disagreements)
 *   ```
 */
export async function verifyTransaction(
  claim: TransactionClaim,
  options: VerifyOptions,
): Promise<Verdict> {
  const checked = checkOptions(options)
  const { verdict } = await judge(transactionCase(claim), checked)
  return verdict
}

/**
 * Whether the settlement contract paid an order: once, to this payee, with this reference.
 *
 * @example
 *   ```ts
 *   import { plainProvider, verifySettlement } from 'quittance/verify'
 *
 *   const providers = [plainProvider('https://one.example'), plainProvider('https://two.example')]
 *   const [hash, reference] = [`0x${'00'.repeat(32)}`, `0x${'11'.repeat(32)}`]
 *   const payee = '0x00000000000000000000000000000000000000AA'
 *   const claim = { chainId: 1, hash, reference, payee, amount: 5n, token: null }
 *   console.log((await verifySettlement(claim, { providers })).status)
 *   ```
 */
export async function verifySettlement(
  claim: SettlementClaim,
  options: VerifyOptions,
): Promise<Verdict> {
  const checked = checkOptions(options)
  const { verdict } = await judge(settlementCase(claim), checked)
  return verdict
}

export function transactionCase(claim: TransactionClaim): Case {
  const expected = expectedPayment(claim)
  const { payer, settlement, token, payee, amount, reference, contract, log } = expected
  const common = commonOf(claim, payer)
  const isPayment = token !== null || [payee, amount, reference, contract, log].some(isGiven)
  // A payer alone must have sent the transaction or paid in it, whether or not it pays anybody.
  return isPayment
    ? { ...common, expected }
    : { ...common, sender: payer && { payer, settlement }, caveats: [NO_PAYMENT_CLAIMED] }
}

function isGiven(part: unknown): boolean {
  return part !== undefined
}

const NO_PAYMENT_CLAIMED =
  'No payee, amount or token was claimed: only that the transaction succeeded was checked.'

export function settlementCase(claim: SettlementClaim): Case {
  const payer = optional(claim.payer, (value) => addressField('payer', value))
  return {
    ...commonOf(claim, payer),
    expected: {
      kinds: ['settlement'],
      contract: addressField('contract', claim.contract ?? settlementAddress),
      token: claim.token === null ? null : addressField('token', claim.token),
      payer,
      payee: addressField('payee', claim.payee),
      amount: amountField(claim.amount),
      reference: hashField('reference', claim.reference),
    },
  }
}

type Common = BaseClaim & { hash: string; nonce?: bigint | undefined }

function commonOf(claim: Common, payer: Hex | undefined): Case {
  const { nonce } = claim
  const known = payer === undefined || nonce === undefined ? {} : { nonceOf: { payer, nonce } }
  return {
    question: {
      chainId: chainIdField(claim.chainId),
      hash: hashField('hash', claim.hash),
      ...known,
    },
    expected: undefined,
    blockHash: optional(claim.blockHash, (value) => hashField('blockHash', value)),
    window: optional(claim.window, windowField),
  }
}
