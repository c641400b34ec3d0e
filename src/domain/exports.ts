export const EXPORT_KINDS = ['transactions', 'postings', 'fees'] as const
export type ExportKind = (typeof EXPORT_KINDS)[number]

/** Whose, and from when until before when. */
export type ExportWanted = {
  /** Undefined: everybody's. */
  userId: number | undefined
  /** Undefined: what is on any chain, and on none. */
  chainId?: number | undefined
  from: Date
  to: Date
}

/** What the entries of one currency or one account of the ledger change. */
export type ExportBalance = { account: string; currency: string; decimals: number; units: bigint }

export type ExportEntry = {
  account: string
  at: Date
  /** What it adds to the balance of its account. */
  change: bigint
  fields: Readonly<Record<string, string | null>>
}

/** Balances at the start, and the entries that lead from them to those at the end. */
export type ExportSection = {
  openings: readonly ExportBalance[]
  entries: AsyncIterable<ExportEntry>
}

/** The columns of each kind, in addition to those that all kinds have. */
export const EXPORT_FIELDS: Readonly<Record<ExportKind, readonly string[]>> = {
  transactions: [
    'transaction_id',
    'user_id',
    'type',
    'status',
    'amount',
    'description',
    'eth_transaction_hash',
    'gateway_id',
    'institution_id',
    'chain',
  ],
  postings: ['posting_id', 'wallet_id', 'kind', 'subject', 'chain'],
  fees: [
    'transaction_id',
    'user_id',
    'kind',
    'eth_tx_hash',
    'block_number',
    'gas_used',
    'gas_price',
    'rollup_fee',
    'chain',
  ],
}
