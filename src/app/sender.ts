import type { BlockchainPayments } from '../api/endpoints/api/blockchain/payments.ts'
import type { Bells } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import type { Logger } from '../base/logger.ts'
import type { Shutdown } from '../base/shutdown.ts'
import type { FoundContracts } from '../chain/read/contracts.ts'
import { readFeeMarket, type FeePolicy } from '../chain/read/fees.ts'
import { readBalance, readTokenBalance } from '../chain/read/holdings.ts'
import type { Providers } from '../chain/rpc/providers.ts'
import type { Signers } from '../chain/signers/signer.ts'
import { isCodeOf, settlement } from '../deploy/deployables.ts'
import type { Fees, Hex } from '../domain/orders.ts'
import { createReferenceCodec } from '../domain/reference.ts'
import type { Token } from '../domain/tokens.ts'
import { createAccounts, lower, type Accounts } from '../sender/accounts.ts'
import { DEFAULT_POLICY, type SenderContext, type SenderPolicy } from '../sender/context.ts'
import { createCounters } from '../sender/counters.ts'
import type { PreparedOrder } from '../sender/prepare.ts'
import { createSender, type Sender } from '../sender/sender.ts'
import { signOutside } from '../sender/signers/sign-outside.ts'
import { createSignerReader, type SignerReader } from '../sender/signers/reader.ts'
import type { Database, Db } from '../store/database/database.ts'
import type { Chain } from './chain.ts'
import { chargesOf } from './charges.ts'

/** The part that pays: what its orders are accepted by, and the addresses that sign. */
export type Paying = {
  sender: Sender
  payments: BlockchainPayments<PreparedOrder>
  /** Signs for the platform itself: it mints, and pays what no user pays. */
  platform: Hex
  signers: SignerReader
}

export async function createPaying(deps: {
  coin: string
  config: Config
  chain: Chain
  contracts: FoundContracts
  signers: Signers
  database: Database
  db: Db
  clock: Clock
  bells: Bells
  logger: Logger
  shutdown: Shutdown
  referenceKey: Uint8Array
  onMoved: SenderContext['onMoved']
  onEvent: SenderContext['onEvent']
  traces: SenderContext['traces']
  onProgress: () => void
}): Promise<Paying> {
  const { config, chain, contracts, db, clock, logger, onMoved, onEvent, onProgress } = deps
  const { signal } = deps.shutdown
  const { chainId, providers } = chain
  const { readRollupFee, feePolicy } = await chargesOf(providers, config, signal)
  const offer = (signal: AbortSignal): Promise<Fees> => quoteFees(providers, feePolicy, signal)
  const stablecoin = contracts.stablecoin && lower(contracts.stablecoin)
  const accounts = await createAccounts({ signers: deps.signers, db })
  const { platform } = accounts
  const sender = createSender({
    db,
    clock,
    logger,
    bell: deps.bells.of(`sender of ${chainId}`),
    onMoved,
    onEvent,
    traces: deps.traces,
    onProgress,
    chainId,
    providers: providers.all,
    sign: signOutside((by, transaction) => accounts.sign(by, transaction, signal), accounts.isHere),
    signTyped: (by, payload) => accounts.signTyped(by, payload, signal),
    quoteFees: offer,
    readRollupFee,
    references: createReferenceCodec(deps.referenceKey),
    settlement: contracts.settlement && {
      address: lower(contracts.settlement),
      isCode: (code) => isCodeOf(code, settlement()),
    },
    stablecoin,
    mintsPlainly: contracts.token?.profile === 'fiat_token',
    coin: deps.coin,
    tokens: contracts.tokens,
    pool: [platform],
    counters: createCounters(deps.database.kind, clock),
    policy: policyOf(chain, config),
  })
  return {
    sender,
    platform,
    signers: createSignerReader({
      db,
      clock,
      platform,
      chainId,
      providers,
      quoteFees: offer,
      mintsIn: stablecoin,
      ...(contracts.token && { token: contracts.token }),
    }),
    payments: paymentsBy(sender, { accounts, providers, tokens: contracts.tokens, signal }),
  }
}

/** What users pay on the chain. */
function paymentsBy(
  sender: Sender,
  of: {
    accounts: Pick<Accounts, 'addressOf'>
    providers: Providers
    tokens: FoundContracts['tokens']
    signal: AbortSignal
  },
): BlockchainPayments<PreparedOrder> {
  const { accounts, providers, tokens, signal } = of
  const way = 'chain'
  return {
    addressOf: accounts.addressOf,
    prepare: (db, payment) => sender.prepare(db, { ...payment, way }, signal),
    prepareBatch: (db, batch) => sender.prepareBatch(db, { ...batch, way }, signal),
    estimateBatch: (db, batch) => sender.estimateBatch(db, { ...batch, way }, signal),
    acceptNew: sender.acceptNew,
    balanceOf: (holder) => readBalance(providers, { holder, signal }),
    tokens,
    tokensOf: (holder) => readTokens(providers, { tokens, holder, signal }),
    kick: sender.kick,
  }
}

/** The sender's policy, as it is set for the chain; quick where an embedded chain is. */
export function policyOf({ isEmbedded }: Pick<Chain, 'isEmbedded'>, config: Config): SenderPolicy {
  const { confirmations, inFlight, blockMs } = config
  const policy = { ...DEFAULT_POLICY, confirmations, inFlight }
  if (!isEmbedded) return policy
  const pollIntervalMs = Math.min(blockMs / 2, policy.pollIntervalMs)
  const rebroadcastMs = Math.min(blockMs * 15, policy.rebroadcastMs)
  return { ...policy, pollIntervalMs, rebroadcastMs }
}

function readTokens(
  providers: Providers,
  { tokens, ...of }: { tokens: readonly Token[]; holder: Hex; signal: AbortSignal },
): Promise<Array<{ token: Token; amount: bigint }>> {
  return Promise.all(
    tokens.map(async (token) => {
      return { token, amount: await readTokenBalance(providers, { token: token.address, ...of }) }
    }),
  )
}

async function quoteFees(
  providers: Providers,
  policy: FeePolicy,
  signal: AbortSignal,
): Promise<Fees> {
  const { baseFee, tip } = await readFeeMarket(providers, { policy, signal })
  return { maxFeePerGas: 2n * baseFee + tip, maxPriorityFeePerGas: tip }
}
