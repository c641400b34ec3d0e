import { parseConfig } from '../base/config.ts'
import type { ReadyFacts } from '../base/ready.ts'

/** What an operator acts on. Counts by kind have no zeros. */
export type OperatorFigures = {
  openBreaks: Record<string, number>
  senderAlerts: Record<string, number>
  signerAlerts: Record<string, number>
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

/** Reads Prometheus' text form. Of several chains the counts are added, and the worst one shows. */
export function figuresOf(metrics: string): OperatorFigures {
  const samples = [...metrics.matchAll(SAMPLE)].map(([, name = '', labels = '', value]) => {
    return { name, kind: KIND.exec(labels)?.[1] ?? '', value: Number(value) }
  })
  const of = (name: string) => samples.filter((sample) => sample.name === `quittance_${name}`)
  const counts = (name: string): Record<string, number> => {
    const sums: Record<string, number> = {}
    for (const { kind, value } of of(name)) {
      if (value > 0) sums[kind] = (sums[kind] ?? 0) + value
    }
    return sums
  }
  const worst = (name: string): number =>
    of(name).reduce((most, { value }) => (Math.abs(value) > Math.abs(most) ? value : most), 0)
  return {
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

/** What is wrong, each in a sentence that says where to go on. Empty: nothing to do. */
export function attentionOf(figures: OperatorFigures): string[] {
  const { openBreaks, senderAlerts, signerAlerts } = figures
  const { oldestOrderSeconds, oldestWebhookSeconds, supplyDriftDollars } = figures
  return [
    ...lineOf(openBreaks, 'Open breaks', 'Read them with GET /api/breaks?state=open.'),
    ...lineOf(senderAlerts, 'Open alerts of the sender', 'Read them in the console.'),
    ...lineOf(signerAlerts, 'Low signers', 'Run: quittance signers'),
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

function lineOf(counts: Record<string, number>, what: string, remedy: string): string[] {
  const kinds = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  return kinds.length === 0 ? [] : [`${what}: ${kinds.join(', ')}. ${remedy}`]
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)} minutes`
}
