import { settlementAddress } from '../bindings/addresses.ts'
import type { Hex } from '../chain/hex.ts'
import { addressField, amountField, logField, optional, referenceField } from './claim.ts'
import { ANY_PAYMENT, type Expected } from './match.ts'

/** What a record says of a payment, however it was made. What it leaves out is not checked. */
export type PaymentClaim = {
  payer?: string | undefined
  payee?: string | undefined
  /** In the smallest unit: wei, or millionths of a dollar. */
  amount?: bigint | undefined
  /** The ERC-20 that was paid. Absent for native coin. */
  token?: string | undefined
  /** Of the settlement, or in an event next to the transfer: a memo, EIP-3009, ERC-7699. */
  reference?: string | undefined
  /** The only contract whose events count: another settlement contract, or a proxy of Request. */
  contract?: string | undefined
  /** The settlement contract; absent for the address that it has on every chain. */
  settlement?: string | undefined
  /** The place of its event in the receipt, which distinguishes equal payments. */
  log?: number | undefined
}

/** Paid directly or through the settlement contract: both are the payment that was claimed. */
export function expectedPayment(claim: PaymentClaim): Expected & { settlement: Hex } {
  return {
    kinds: ANY_PAYMENT,
    contract: optional(claim.contract, (value) => addressField('contract', value)),
    settlement: addressField('settlement', claim.settlement ?? settlementAddress),
    token: claim.token === undefined ? null : addressField('token', claim.token),
    payer: optional(claim.payer, (value) => addressField('payer', value)),
    payee: optional(claim.payee, (value) => addressField('payee', value)),
    amount: optional(claim.amount, amountField),
    reference: optional(claim.reference, referenceField),
    log: optional(claim.log, logField),
  }
}
