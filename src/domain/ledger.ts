import { BaseError } from '../base/errors.ts'
import type { Hex } from './orders.ts'

/** The ledger holds dollars; every account and every posting says so. */
export type LedgerCurrency = 'USD'

/** Money in the ledger, in millionths. */
export type LedgerAmount = { amount: bigint; currency: LedgerCurrency }

export type WalletType = 'merchant' | 'end_user_wallet'

export type Wallet = LedgerAmount & {
  id: bigint
  userId: number
  type: WalletType
  description: string
  /** How far transfers to a bank may take the wallet below zero. */
  creditLine: bigint
  createdAt: Date
}

/** Where a wire goes. The bank receives all of it; `id` is the caller's own name for it. */
export type WireDestination = {
  name: string
  addressLine1?: string | undefined
  accountNumber?: string | undefined
  routingNumber?: string | undefined
  id?: string | undefined
}

export type PaymentStatus = 'pending' | 'confirmed' | 'paid' | 'failed'

/** Money from a wallet to somebody's bank. */
export type Payment = LedgerAmount & {
  id: string
  seq: bigint
  userId: number
  walletId: bigint
  destination: WireDestination & { addressLine1: string }
  beneficiaryEmail: string | undefined
  status: PaymentStatus
  trackingRef: string | undefined
  errorCode: string | undefined
  createdAt: Date
  updatedAt: Date
}

/** `running`: it is on the chain for good, or on its way there, and something is still to come. */
export type TransferStatus = 'pending' | 'running' | 'complete' | 'failed'

type AnyTransfer = LedgerAmount & {
  id: string
  seq: bigint
  userId: number
  /** Where it comes from; of a redeem, where the money goes when the bank sends it back. */
  walletId: bigint
  status: TransferStatus
  errorCode: string | undefined
  createdAt: Date
  updatedAt: Date
}

export type WalletTransfer = AnyTransfer & { kind: 'wallet'; toWalletId: bigint }

/** Money from a wallet onto the chain, as stablecoin. */
export type Mint = AnyTransfer & {
  kind: 'mint'
  /** The code of the chain, and its id. */
  chain: string
  chainId: number
  address: Hex
  addressId: string | undefined
  /** The memo that it is minted with. */
  reference: Hex
  transactionHash: Hex | undefined
}

/** Stablecoin from the chain to a bank. A holder requests it by burning with the reference. */
export type Redeem = AnyTransfer & {
  kind: 'redeem'
  chain: string
  chainId: number
  /** Who alone may burn for it; anybody where it is undefined. */
  address: Hex | undefined
  destination: Partial<WireDestination>
  reference: Hex
  expiresAt: Date
  transactionHash: Hex | undefined
}

/** Stablecoin from a wallet to an address, out of what the platform has or newly minted. */
export type Withdrawal = Omit<Mint, 'kind' | 'addressId'> & {
  kind: 'withdrawal'
  /** Under which Group B lists it, and its order pays it. */
  transactionId: string
}

export type Transfer = WalletTransfer | Mint | Redeem | Withdrawal

export type RecipientAddress = {
  id: string
  seq: bigint
  userId: number
  chain: string
  address: Hex
  currency: LedgerCurrency
  description: string
  createdAt: Date
}

/** Nothing was posted: a wallet never holds less than nothing. */
export class InsufficientFundsError extends BaseError {
  constructor() {
    super('The wallet has less than this. Send a smaller amount, or fund the wallet first.', {
      code: 'insufficient_funds',
    })
  }
}
