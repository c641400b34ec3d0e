import { parseConfig } from '../base/config.ts'
import type { ReadyFacts } from '../base/ready.ts'

/** How many of a kind there are on one chain, never none. */
export type ChainCount = { chain: string; kind: string; count: number }

/** What an operator acts on. */
export type OperatorFigures = {
  /** The chains of the figures. */
  chains: readonly string[]
  openBreaks: readonly ChainCount[]
  senderAlerts: readonly ChainCount[]
  signerAlerts: readonly ChainCount[]
  oldestOrderSeconds: number
  oldestWebhookSeconds: number
  supplyDriftDollars: number
}

/** Undefined where the program does not show its metrics: it requires a key, or has no port. */
export async function readFigures(facts: ReadyFacts): Promise<OperatorFigures | undefined> {
  if (facts.statusUrl === undefined) return undefined
  const key = parseConfig(process.env).adminKey ?? facts.admin?.apiKey
  try {
    const response = await fetch(`${facts.statusUrl}/metrics`, {
      headers: key === undefined ? {} : { 'x-api-key': key },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return response.ok ? figuresOf(await response.text()) : undefined
  } catch {
    return undefined
  }
}

const TIMEOUT_MS = 5000

/** Reads Prometheus' text form. Of several chains the longest lag and the largest drift show. */
export function figuresOf(metrics: string): OperatorFigures {
  const samples = [...metrics.matchAll(SAMPLE)].map(([, name = '', labels = '', value]) => {
    const [kind = '', chain = ''] = [KIND, CHAIN].map((label) => label.exec(labels)?.[1])
    return { name, kind, chain, value: Number(value) }
  })
  const of = (name: string) => samples.filter((sample) => sample.name === `quittance_${name}`)
  const counts = (name: string): ChainCount[] =>
    of(name).flatMap(({ kind, chain, value }) => (value > 0 ? [{ kind, chain, count: value }] : []))
  const worst = (name: string): number =>
    of(name).reduce((most, { value }) => (Math.abs(value) > Math.abs(most) ? value : most), 0)
  return {
    chains: [...new Set(samples.flatMap(({ chain }) => (chain === '' ? [] : [chain])))],
    openBreaks: counts('open_breaks'),
    senderAlerts: counts('sender_alerts'),
    signerAlerts: counts('signer_alerts'),
    oldestOrderSeconds: worst('oldest_open_order_seconds'),
    oldestWebhookSeconds: worst('webhook_oldest_due_seconds'),
    supplyDriftDollars: worst('supply_drift_dollars'),
  }
}

/** A name, its labels, and the figure. */
const SAMPLE = /^(quittance_\w+)(?:\{(.*)\})? (-?[\d.e+-]+)$/gm
const KIND = /\bkind="([^"]*)"/
const CHAIN = /\bchain="([^"]*)"/

/** What is wrong, each in a sentence that says where to go on. Empty: nothing to do. */
export function attentionOf(figures: OperatorFigures): string[] {
  const { chains, openBreaks, senderAlerts, signerAlerts } = figures
  const isOne = chains.length < 2
  const { oldestOrderSeconds, oldestWebhookSeconds, supplyDriftDollars } = figures
  return [
    ...linesOf(openBreaks, 'Open breaks', { isOne, remedy: BREAKS_REMEDY }),
    ...linesOf(senderAlerts, 'Open alerts of the sender', { isOne, remedy: ALERTS_REMEDY }),
    ...linesOf(signerAlerts, 'Low signers', { isOne, remedy: SIGNERS_REMEDY }),
    ...(oldestOrderSeconds > LAG_SECONDS
      ? [`An order has been open for ${minutes(oldestOrderSeconds)}. Check that \`work\` runs.`]
      : []),
    ...(oldestWebhookSeconds > LAG_SECONDS
      ? [`A webhook has been due for ${minutes(oldestWebhookSeconds)}. Check that \`work\` runs.`]
      : []),
    ...(supplyDriftDollars === 0
      ? []
      : [
          `The supply differs from the ledger by ${supplyDriftDollars} USD. Read GET /api/solvency.`,
        ]),
  ]
}

/** The alert rules in deploy have the same limit. */
const LAG_SECONDS = 600

type Remedy = (chain: string | undefined) => string

const BREAKS_REMEDY: Remedy = (chain) => {
  const filter = chain === undefined ? '' : `&chain=${chain}`
  return `Read them with GET /api/breaks?state=open${filter}.`
}
const ALERTS_REMEDY: Remedy = () => 'Read them in the console.'
const SIGNERS_REMEDY: Remedy = (chain) =>
  `Run: quittance signers${chain === undefined ? '' : ` --chain ${chain}`}`

/** One line for each chain; the only one goes without its name. */
function linesOf(
  counts: readonly ChainCount[],
  what: string,
  { isOne, remedy }: { isOne: boolean; remedy: Remedy },
): string[] {
  return [...Map.groupBy(counts, ({ chain }) => chain)].map(([name, own]) => {
    const chain = isOne || name === '' ? undefined : name
    const kinds = own.map(({ kind, count }) => `${kind} ${count}`).join(', ')
    return `${what}${chain === undefined ? '' : ` on ${chain}`}: ${kinds}. ${remedy(chain)}`
  })
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)} minutes`
}
