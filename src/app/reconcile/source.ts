import type { Finality } from '../../base/chains/config.ts'
import { systemClock } from '../../base/clock.ts'
import type { Config, HexAddress } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { readReady } from '../../base/ready.ts'
import { parseAddress } from '../../chain/hex.ts'
import { findContracts, type Contracts } from '../../chain/read/contracts.ts'
import { readChainId } from '../../chain/rpc/chain-id.ts'
import { createProviders, type Providers } from '../../chain/rpc/providers.ts'
import { nameOfProvider } from '../../chain/rpc/rpc.ts'
import { createPlatformClient } from '../../client/index.ts'
import { coinOfChain } from '../../domain/coins.ts'
import type { Token } from '../../domain/tokens.ts'
import { createNode, type Node } from '../../reconciler/chain/node.ts'
import type { JournalHead } from '../../reconciler/journal.ts'
import { createExaminer, type Examiner } from '../../reconciler/judge/examine.ts'
import { reconcile } from '../../reconciler/reconcile.ts'
import { reportJson, type ReportJson } from '../../reconciler/reports/json.ts'
import { createApiSource } from '../../reconciler/sources/api.ts'
import {
  ownCurrencies,
  readCurrencies,
  type Currencies,
  type NamedToken,
} from '../../reconciler/sources/currencies.ts'
import { createFileSource } from '../../reconciler/sources/file.ts'
import type { RecordSource } from '../../reconciler/sources/records.ts'
import { keepRun, type KeptRun } from './kept-run.ts'

/** Those of the configuration, and of the program that runs on its data folder. */
export function contractsKnownTo(config: Config): ReconcileRequest['contractsOn'] {
  const running = readReady(config.dataFolder)
  const runs = running?.chains ?? (running === undefined ? [] : [running])
  return (chainId) => {
    const known = runs.find((one) => one.chainId === chainId)
    return {
      coin: config.chains.find((one) => one.chainId === chainId)?.coin,
      settlement: config.settlementAddress ?? (known?.settlement as HexAddress | undefined),
      stablecoin: config.stablecoinAddress ?? (known?.stablecoin as HexAddress | undefined),
      tokens: config.tokens,
    }
  }
}

export type { NamedToken } from '../../reconciler/sources/currencies.ts'
export type { ReportJson } from '../../reconciler/reports/json.ts'

export type ReconcileRequest = {
  source: RecordSource
  /** What is known of the contracts on that chain. */
  contractsOn: (chainId: number) => Parameters<typeof findContracts>[1] & {
    /** What gas is paid in there; absent: what is known of the chain. */
    coin?: string | undefined
  }
  urls: readonly string[]
  chainId?: number | undefined
  confirmations: Finality
  since?: Date | undefined
  until?: Date | undefined
  graceMs: number
  /** Tokens in addition to the configured stablecoin, by the currency that the records use. */
  tokens?: readonly NamedToken[] | undefined
  /** The folder for the files of the report, and for what a stopped run goes on from. */
  out?: string | undefined
  /** Whether to go on with the run that was stopped in that folder. */
  isResumed?: boolean | undefined
  signal: AbortSignal
  onProgress: (state: { done: number; total: number | undefined; counted: number }) => void
}

/** What a server is asked for. */
type ServerRequest = Pick<ReconcileRequest, 'since' | 'until'> & {
  sourceKey: string | undefined
  /** The chain whose records are wanted; absent: of all that it has. */
  chain?: string | undefined
}

/** A CSV, JSON lines, or the address of a server of Group B. */
export function openSource(
  where: string,
  { sourceKey, chain, since, until }: ServerRequest,
): RecordSource {
  if (!/^https?:\/\//.test(where)) return createFileSource(where)
  if (sourceKey === undefined) {
    throw new BaseError(
      'The server requires an API key with the scope `read`. Set QUITTANCE_SOURCE_KEY, or ' +
        '`apiKey` in a program.',
      { code: 'source_key_missing' },
    )
  }
  const client = createPlatformClient({ baseUrl: where, apiKey: sourceKey })
  return createApiSource(client, { name: nameOfProvider(where), chain, since, until })
}

/** Reconciles a file, or what a server lists, against the chain, without a database. */
export async function reconcileSource(request: ReconcileRequest): Promise<ReportJson> {
  const { examiner, contracts, currencies } = await examinerOf(request)
  const { out: folder, isResumed = false } = request
  const head = headOf(request, { chainId: examiner.chainId, contracts, currencies })
  const run = await keepRun({ folder, head, isResumed })
  try {
    return await reconcileInto(run, { request, examiner })
  } finally {
    await run.close()
  }
}

async function reconcileInto(
  run: KeptRun,
  { request, examiner }: { request: ReconcileRequest; examiner: Examiner },
): Promise<ReportJson> {
  const { source, signal, since, until } = request
  const startedAt = performance.now() - run.earlierMs
  const elapsed = (): number => Math.round(performance.now() - startedAt)
  const totals = await reconcile({
    source,
    examiner,
    signal,
    since,
    until,
    from: run.from,
    async onChunk(done) {
      await run.add(done, elapsed())
      const counted = done.totals.records
      request.onProgress({ done: done.position, total: source.size?.total, counted })
    },
    onEnd: run.addLate,
  })
  const report = reportJson({
    totals,
    findings: run.findings,
    unreadable: run.unreadable,
    uncompared: run.uncompared,
    chainId: examiner.chainId,
    source: source.name,
    elapsedMs: elapsed(),
  })
  await run.finish(report)
  return report
}

/** All that the result hangs on, but the nodes: another one tells the same of the same chain. */
function headOf(
  { source, since, until, graceMs, confirmations }: ReconcileRequest,
  {
    chainId,
    contracts,
    currencies,
  }: { chainId: number; contracts: Contracts; currencies: Currencies },
): JournalHead {
  return {
    source: source.name,
    version: source.version,
    since: since?.toISOString(),
    until: until?.toISOString(),
    chainId,
    confirmations,
    graceMs,
    settlement: contracts.settlement,
    currencies: currencies.summary,
  }
}

async function examinerOf(
  request: ReconcileRequest,
): Promise<{ examiner: Examiner; contracts: Contracts; currencies: Currencies }> {
  const { urls, signal, confirmations, graceMs } = request
  const chainId = request.chainId ?? (await readChainId({ urls, signal }))
  const providers = createProviders({ urls, chainId, clock: systemClock, random: Math.random })
  const { coin = coinOfChain(chainId), ...known } = request.contractsOn(chainId)
  const contracts = await findContracts(providers, known)
  const nodes = nodesOf(providers, confirmations)
  const stablecoin = parseAddress(contracts.stablecoin)
  const named = [
    ...(stablecoin ? [{ address: stablecoin }] : []),
    ...contracts.tokens.filter(({ currency }) => currency !== 'USD'),
    ...(request.tokens ?? []),
  ]
  const currencies = await readCurrencies(named, { coin, nodes, signal })
  const examiner = createExaminer({
    chainId,
    nodes,
    clock: systemClock,
    contracts: { settlement: parseAddress(contracts.settlement), tokens: currencies.tokens },
    currencies,
    graceMs,
  })
  return { examiner, contracts, currencies }
}

function nodesOf(providers: Providers, confirmations: Finality): Node[] {
  return providers.all.map((provider) =>
    createNode({ provider, confirmations, clock: systemClock }),
  )
}

/** The nodes of a chain and who asks them, for our own records. */
export function createPanelOf(parts: {
  chainId: number
  coin: string
  providers: Providers
  confirmations: Finality
  contracts: Pick<Contracts, 'settlement'> & { tokens: readonly Token[] }
  lagGraceMs?: number
}): { examiner: Examiner; nodes: readonly Node[] } {
  const { coin, providers, confirmations, contracts, ...rest } = parts
  const nodes = nodesOf(providers, confirmations)
  const currencies = ownCurrencies(contracts.tokens, { coin, nodes })
  const { tokens } = currencies
  const examiner = createExaminer({
    ...rest,
    clock: systemClock,
    nodes,
    contracts: { settlement: parseAddress(contracts.settlement), tokens },
    currencies,
  })
  return { examiner, nodes }
}
