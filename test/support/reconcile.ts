import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { systemClock, type Clock } from '../../src/base/clock.ts'
import type { Hex } from '../../src/chain/hex.ts'
import { createProviders } from '../../src/chain/providers.ts'
import type { Finding } from '../../src/domain/breaks.ts'
import { readCurrencies } from '../../src/reconciler/currencies.ts'
import { createExaminer, type ExaminerDeps } from '../../src/reconciler/examine.ts'
import { createFileSource } from '../../src/reconciler/file-source.ts'
import { createNode } from '../../src/reconciler/node.ts'
import { reconcile, type RunTotals, type UncomparedRecord } from '../../src/reconciler/reconcile.ts'
import type { RecordSource, UnreadableRow } from '../../src/reconciler/records.ts'
import { temporaryFolder } from './folder.ts'
import { CHAIN_ID, type PaidChain } from './verify.ts'

export type Row = Readonly<Record<string, string | bigint | number | undefined>>

export type Reconciled = {
  totals: RunTotals
  findings: Finding[]
  unreadable: UnreadableRow[]
  uncompared: UncomparedRecord[]
  /** `TX1 missing`, in order of the file. */
  kinds: string[]
}

const folder = temporaryFolder()
let files = 0

/** A CSV of the rows, with a column for each name that any of them has. */
export function csvFile(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const lines = rows.map((row) => names.map((name) => String(row[name] ?? '')).join(','))
  return textFile([names.join(','), ...lines].join('\n'))
}

export function textFile(text: string): string {
  files += 1
  mkdirSync(folder.path, { recursive: true })
  const path = join(folder.path, `records-${files}`)
  writeFileSync(path, text)
  return path
}

export function removeFiles(): void {
  folder.remove()
}

export type Setting = Partial<ExaminerDeps> & {
  confirmations?: number
  clock?: Clock
  chunkRecords?: number
  since?: Date
  until?: Date
}

/** Reconciles the file as the command does, against the nodes at these addresses. */
export async function reconcileFile(
  path: string,
  nodes: { urls: readonly string[]; settlement: Hex; dollar: Hex | undefined },
  setting: Setting = {},
): Promise<Reconciled> {
  const source = createFileSource(path, setting)
  return reconcileSource(source, nodes, setting)
}

export async function reconcileSource(
  source: RecordSource,
  nodes: { urls: readonly string[]; settlement: Hex; dollar: Hex | undefined },
  setting: Setting = {},
): Promise<Reconciled> {
  const { signal } = new AbortController()
  const asked = nodesAt(nodes.urls, setting)
  const currencies = await readCurrencies(nodes.dollar ? [{ address: nodes.dollar }] : [], {
    nodes: asked,
    signal,
  })
  const examiner = createExaminer({
    chainId: CHAIN_ID,
    nodes: asked,
    contracts: { settlement: nodes.settlement, tokens: currencies.tokens },
    currencies,
    clock: systemClock,
    ...setting,
  })
  const findings: Finding[] = []
  const unreadable: UnreadableRow[] = []
  const uncompared: UncomparedRecord[] = []
  const { since, until } = setting
  const totals = await reconcile({
    source,
    examiner,
    since,
    until,
    signal,
    onChunk(done) {
      findings.push(...done.findings)
      uncompared.push(...done.uncompared)
      unreadable.push(...done.unreadable)
    },
    onEnd: (late) => void findings.push(...late),
  })
  const kinds = findings.map(({ transactionId, kind }) => `${transactionId} ${kind}`)
  return { totals, findings, unreadable, uncompared, kinds }
}

export function nodesAt(urls: readonly string[], setting: Setting = {}) {
  const { clock = systemClock, confirmations = 1 } = setting
  const providers = createProviders({ urls, chainId: CHAIN_ID, clock, random: () => 0.5 })
  return providers.all.map((provider) => createNode({ provider, confirmations, clock }))
}

export function placeOf(world: PaidChain): { urls: string[]; settlement: Hex; dollar: Hex } {
  return { urls: [world.chain.url], settlement: world.settlement, dollar: world.dollar }
}
