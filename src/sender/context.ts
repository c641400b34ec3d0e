import type { Bell } from '../base/bells.ts'
import type { Cache } from '../base/cache.ts'
import { USUAL_IN_FLIGHT, type Finality } from '../base/chains/config.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { ReadRollupFee } from '../chain/read/rollup-fee.ts'
import type { ProviderState } from '../chain/rpc/http-provider.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import type { AttemptBlock, AttemptKind, Fees, HashedOrder, Hex } from '../domain/orders.ts'
import type { Token } from '../domain/tokens.ts'
import type { ReferenceCodec } from '../domain/reference.ts'
import type { Db } from '../store/database/database.ts'
import type { SignTransaction, SignTyped } from './sign.ts'

/** What the sender depends on. Everything it must remember is in the tables behind `db`. */
export type SenderContext = {
  db: Db
  chainId: number
  providers: readonly SenderProvider[]
  sign: SignTransaction
  /** May refuse, as a service may that signs transactions alone. */
  signTyped: SignTyped
  quoteFees: (signal: AbortSignal) => Promise<Fees>
  references: ReferenceCodec
  /** Undefined where the chain has no settlement contract. */
  settlement: Settlement | undefined
  /** The dollar token, in lower case; undefined where the chain has none. */
  stablecoin: Hex | undefined
  /** Its mints have no memo, as those of USDC. */
  mintsPlainly?: boolean | undefined
  /** What gas is paid in; absent: ether. */
  coin?: string | undefined
  /** Those that payments can be made in, the dollar among them. */
  tokens: readonly Token[]
  /** Platform signers, in lower case, for orders that the caller's own address does not pay. */
  pool: readonly Hex[]
  /**
   * The next counter of each payer, as far as this process gave out the one before; absent: all are
   * read. One that another process took is simulated until its order is in a block, and from then
   * on costs a second simulation.
   */
  counters?: Pick<Cache<bigint>, 'get' | 'set'> | undefined
  policy: SenderPolicy
  clock: Clock
  logger: Logger
  /** Runs in the SQL transaction that moves the orders, so that their records move with them. */
  onMoved: (db: Db, moves: readonly HashedOrder[]) => Promise<void>
  /** What a rollup may charge on top of the gas; undefined on a chain that charges nothing. */
  readRollupFee?: ReadRollupFee | undefined
  /** For metrics. Called at once, even where the open transaction will not commit. */
  onEvent: (event: SenderEvent) => void
  /** Absent where traces are off. */
  traces?: OrderTraces | undefined
  /** Called at the end of each pass, and of each lane's turn within it. */
  onProgress?: () => void
  /** Rung when an order is accepted, in whichever process. */
  bell?: Bell
}

/** One whose circuit is open, or that is paused, may answer late. Without a state it never is. */
export type SenderProvider = Provider & {
  state?: () => Pick<ProviderState, 'circuit' | 'isPaused'>
}

export type SenderEvent =
  /** Another transaction for a nonce that has one: at a higher price, or to cancel. */
  { kind: 'replaced'; by: AttemptKind } | { kind: 'reorged' } | { kind: 'final'; gasWei: bigint }

/** Follows orders in the traces of the requests that made them. */
export type OrderTraces = {
  /** Takes what is committed already. Nothing waits for it. */
  follow: (steps: readonly OrderStep[]) => void
  /** Of the order, for a line in the log. */
  fieldsOf: (db: Db, orderId: bigint | undefined) => Promise<{ trace_id?: string }>
}

/** What has happened to what was signed for an order. One without an order belongs to no trace. */
export type OrderStep = {
  /** `taken`: somebody else's transaction took its nonce. */
  name: 'submit' | 'replace' | 'mined' | 'final' | 'reorg' | 'taken'
  orderId: bigint | undefined
  hash: Hex
  startedAt: Date
  endedAt: Date
  /** What the providers said to it. */
  answer?: string
  block?: AttemptBlock
}

/** `isCode` distinguishes the contract's own code from any other code at its address. */
export type Settlement = { address: Hex; isCode: (code: Hex) => boolean }

export type SenderPolicy = {
  confirmations: Finality
  /** How many transactions of one signer are on their way at a time. */
  inFlight: number
  /** How many more may wait for their turn, before orders are refused. */
  queued: number
  /** Above it an order waits for a cheaper time instead of being bumped. */
  maxFeePerGas: bigint
  maxGas: bigint
  /** What a transaction that pays several may take; none is let to take more than 16.7 million. */
  maxBundleGas: bigint
  /** How many transactions may be signed for one nonce. */
  attemptsPerNonce: number
  rebroadcastMs: number
  bumpAfterMs: number
  /** How long an order may lack funds before its nonce is given to an empty transaction. */
  noFundsMs: number
  leaseMs: number
  /** How many lanes take their turn together. */
  lanesAtOnce: number
  pollIntervalMs: number
}

export const DEFAULT_POLICY: SenderPolicy = {
  confirmations: 12,
  inFlight: USUAL_IN_FLIGHT,
  queued: 10_000,
  maxFeePerGas: 500n * 10n ** 9n,
  maxGas: 1_000_000n,
  maxBundleGas: 16_000_000n,
  attemptsPerNonce: 32,
  rebroadcastMs: 15_000,
  bumpAfterMs: 60_000,
  noFundsMs: 10 * 60_000,
  leaseMs: 60_000,
  lanesAtOnce: 32,
  pollIntervalMs: 500,
}
