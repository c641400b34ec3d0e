import { sleep, throwIfAborted, type Runtime } from '../client/runtime.ts'
import type { DisagreementKind, Hex, Verdict } from '../verify/index.ts'
import { NotSettledError } from './errors.ts'

/** How long `settled()` waits, how often it looks, and what ends it early. */
export type SettleOptions = {
  signal?: AbortSignal | undefined
  /** For all of it; ten minutes by default. */
  timeoutMs?: number | undefined
  /** Between two looks; two seconds by default. */
  pollMs?: number | undefined
}

/** What `settled()` resolves to: the transaction that paid, and the evidence for it. */
export type Settled<Record> = {
  /** The transaction that paid. After a raised fee it is not the one that was reported first. */
  hash: Hex
  /** Its status is `holds`. */
  verdict: Verdict
  /** The last record that the server returned; undefined where it returned none. */
  record: Record | undefined
}

/** What the server says now: which transactions may have paid, and whether that is final. */
export type Claimed<Record> = {
  record: Record | undefined
  hashes: readonly string[]
  outcome: 'open' | 'done' | 'failed'
}

export type SettleDeps<Record> = {
  runtime: Runtime
  look: (signal: AbortSignal) => Promise<Claimed<Record>>
  judge: (hash: string, signal: AbortSignal) => Promise<Verdict>
  /** Throws when another record has taken this payment. */
  take: (hash: Hex) => void
}

/**
 * Resolves when the chain agrees, and only then. Every hash that the server has named is followed,
 * since a fee that was raised changes the hash and any of them may be the one that was mined.
 */
export async function settle<Record>(
  deps: SettleDeps<Record>,
  options: SettleOptions,
): Promise<Settled<Record>> {
  const { runtime } = deps
  const { signal, timeoutMs = 600_000, pollMs = 2_000 } = options
  throwIfAborted(signal)
  const ending = new AbortController()
  const end = (): void => ending.abort()
  signal?.addEventListener('abort', end, { once: true })
  const cancel = runtime.after(timeoutMs, end)
  const last: Last<Record> = { claimed: undefined, verdict: undefined }
  try {
    for (let inARow = 0; ;) {
      const found = await lookOnce(deps, last, ending.signal)
      if (found !== undefined) return found
      inARow = isAgainst(last) ? inARow + 1 : 0
      if (inARow >= ROUNDS_AGAINST) throw disagrees(last)
      await sleep(runtime, pollMs, ending.signal)
    }
  } catch (error) {
    throwIfAborted(signal)
    if (!ending.signal.aborted || error instanceof NotSettledError) throw error
    throw notYet(last, timeoutMs, error)
  } finally {
    cancel()
    signal?.removeEventListener('abort', end)
  }
}

type Last<Record> = { claimed: Claimed<Record> | undefined; verdict: Verdict | undefined }

/** A node may be a block behind, so what time can still turn must be seen this often in a row. */
const ROUNDS_AGAINST = 3

async function lookOnce<Record>(
  deps: SettleDeps<Record>,
  last: Last<Record>,
  signal: AbortSignal,
): Promise<Settled<Record> | undefined> {
  const claimed = await deps.look(signal)
  last.claimed = claimed
  const { record, outcome } = claimed
  const verdicts: Verdict[] = []
  for (const hash of claimed.hashes) {
    const verdict = await deps.judge(hash, signal)
    last.verdict = verdict
    if (verdict.status === 'holds') {
      const mined = verdict.evidence?.transaction.hash ?? (hash.toLowerCase() as Hex)
      if (outcome === 'failed') throw paidAfterAll(last)
      deps.take(mined)
      return { hash: mined, verdict, record }
    }
    if (verdict.disagreements.some(({ kind }) => !mayPass(kind))) throw disagrees(last)
    verdicts.push(verdict)
  }
  // Of several hashes at one nonce, the one that says most is the one that still may be mined.
  last.verdict = verdicts.find(({ status }) => status === 'pending') ?? verdicts.at(-1)
  if (outcome === 'failed') throw failed(last)
  return undefined
}

/** Whether this is no longer a matter of waiting, if it stays so. */
function isAgainst<Record>({ claimed, verdict }: Last<Record>): boolean {
  if (verdict?.status !== 'disagrees') return false
  const isOnlyAbsent = verdict.disagreements.every(({ kind }) => ABSENT.has(kind))
  return !isOnlyAbsent || claimed?.outcome === 'done'
}

/** Not there, or not under this hash: another attempt may come, until the record is closed. */
const ABSENT: ReadonlySet<DisagreementKind> = new Set<DisagreementKind>(['missing', 'replaced'])

const MAY_PASS: ReadonlySet<DisagreementKind> = new Set<DisagreementKind>([
  ...ABSENT,
  'reorged',
  'provider_disagrees',
  'unsupported',
  'not_mined',
  'not_final',
  'provider_lags',
  'unavailable',
  'not_anchored',
])

function mayPass(kind: DisagreementKind): boolean {
  return MAY_PASS.has(kind)
}

function disagrees<Record>({ claimed, verdict }: Last<Record>): NotSettledError {
  const why = verdict?.disagreements.map(({ message }) => message).join(' ') ?? ''
  return new NotSettledError(`The chain does not agree: ${why}`, {
    code: 'chain_disagrees',
    verdict,
    record: claimed?.record,
  })
}

function paidAfterAll<Record>({ claimed, verdict }: Last<Record>): NotSettledError {
  return new NotSettledError(
    'The record says that the payment failed, but the chain shows it. Do not pay again.',
    { code: 'record_disagrees', verdict, record: claimed?.record },
  )
}

function failed<Record>({ claimed, verdict }: Last<Record>): NotSettledError {
  return new NotSettledError('The payment failed, and the chain shows none.', {
    code: 'payment_failed',
    verdict,
    record: claimed?.record,
  })
}

function notYet<Record>(
  { claimed, verdict }: Last<Record>,
  timeoutMs: number,
  cause: unknown,
): NotSettledError {
  const message = `The payment is not final after ${timeoutMs / 1000} s. Call settled() again.`
  const record = claimed?.record
  return new NotSettledError(message, { code: 'not_settled_yet', verdict, record, cause })
}
