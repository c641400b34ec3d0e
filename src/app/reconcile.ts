import { systemClock } from '../base/clock.ts'
import type { Config, HexAddress } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import { readReady } from '../base/ready.ts'
import { readChainId } from '../chain/chain-id.ts'
import { findContracts, type Contracts } from '../chain/contracts.ts'
import { parseAddress } from '../chain/hex.ts'
import { createProviders, type Providers } from '../chain/providers.ts'
import { nameOfProvider } from '../chain/rpc.ts'
import { createPlatformClient } from '../client/index.ts'
import type { Finding } from '../domain/breaks.ts'
import { createApiSource } from '../reconciler/api-source.ts'
import { createExaminer, type Examiner } from '../reconciler/examine.ts'
import { createFileSource } from '../reconciler/file-source.ts'
import { createNode, type Node } from '../reconciler/node.ts'
import { reconcile } from '../reconciler/reconcile.ts'
import type { RecordSource, UnreadableRow } from '../reconciler/records.ts'
import { reportJson, type ReportJson } from '../reconciler/report-json.ts'
import { createReportFiles } from './report-files.ts'

export type { ReportJson } from '../reconciler/report-json.ts'

export type ReconcileRequest = {
  config: Config
  /** A CSV, JSON lines, or the address of a server of Group B. */
  source: string
  urls: readonly string[]
  chainId?: number | undefined
  confirmations: number | 'finalized'
  since?: Date | undefined
  until?: Date | undefined
  graceMs: number
  /** The folder for the files of the report. */
  out?: string | undefined
  signal: AbortSignal
  onProgress: (state: { done: number; total: number | undefined; counted: number }) => void
}

/** So many are kept for JSON and HTML; the CSV is written as they are found, and has all. */
const MAX_KEPT = 100_000

/** Reconciles a file, or what a server lists, against the chain, without a database. */
export async function reconcileSource(request: ReconcileRequest): Promise<ReportJson> {
  const { signal, since, until } = request
  const startedAt = performance.now()
  const source = sourceOf(request)
  const examiner = await examinerOf(request)
  const files = await createReportFiles(request.out)
  const findings: Finding[] = []
  const unreadable: UnreadableRow[] = []
  const totals = await reconcile({
    source,
    examiner,
    signal,
    since,
    until,
    async onChunk(done) {
      findings.push(...done.findings.slice(0, MAX_KEPT - findings.length))
      unreadable.push(...done.unreadable.slice(0, MAX_KEPT - unreadable.length))
      await files.add(done.findings)
      const counted = done.totals.records
      request.onProgress({ done: done.position, total: source.size?.total, counted })
    },
  })
  const report = reportJson({
    totals,
    findings,
    unreadable,
    chainId: examiner.chainId,
    source: source.name,
    elapsedMs: Math.round(performance.now() - startedAt),
  })
  await files.finish(report)
  return report
}

function sourceOf({ config, source, since, until }: ReconcileRequest): RecordSource {
  if (!/^https?:\/\//.test(source)) return createFileSource(source)
  const { sourceKey } = config
  if (sourceKey === undefined) {
    throw new BaseError('The server wants a key. Set QUITTANCE_SOURCE_KEY to one that may read.', {
      code: 'source_key_missing',
    })
  }
  const client = createPlatformClient({ baseUrl: source, apiKey: sourceKey })
  return createApiSource(client, { name: nameOfProvider(source), since, until })
}

async function examinerOf(request: ReconcileRequest): Promise<Examiner> {
  const { config, urls, signal, confirmations, graceMs } = request
  const chainId = request.chainId ?? (await readChainId({ urls, signal }))
  const providers = createProviders({ urls, chainId, clock: systemClock, random: Math.random })
  const running = readReady(config.dataFolder)
  const known = running?.chainId === chainId ? running : undefined
  const contracts = await findContracts(urls[0] ?? '', {
    settlement: config.settlementAddress ?? (known?.settlement as HexAddress | undefined),
    stablecoin: config.stablecoinAddress ?? (known?.stablecoin as HexAddress | undefined),
  })
  return createPanelOf({ chainId, providers, confirmations, contracts, graceMs }).examiner
}

/** The nodes of a chain and who asks them, for a command and for a server alike. */
export function createPanelOf(parts: {
  chainId: number
  providers: Providers
  confirmations: number | 'finalized'
  contracts: Contracts
  graceMs?: number
  lagGraceMs?: number
}): { examiner: Examiner; nodes: readonly Node[] } {
  const { providers, confirmations, contracts, ...rest } = parts
  const clock = systemClock
  const nodes = providers.all.map((provider) => createNode({ provider, confirmations, clock }))
  const examiner = createExaminer({
    ...rest,
    clock,
    nodes,
    contracts: {
      settlement: parseAddress(contracts.settlement),
      stablecoin: parseAddress(contracts.stablecoin),
    },
  })
  return { examiner, nodes }
}
