import { BREAK_MEANINGS } from '../../domain/breaks.ts'
import type { PaymentRecord } from '../sources/records.ts'
import type { Examined } from './examine.ts'
import { recordedOf, type FoundBreak } from './judge.ts'
import { createSeenKeys } from './seen-keys.ts'

/** Remembers, over a whole run and in little memory, what was read and what was paid. */
export type Duplicates = {
  /** Whether the very same record came before. */
  isRepeated: (record: PaymentRecord) => boolean
  /** Whether any record of the run has this hash. */
  hasHash: (hash: string) => boolean
  /** The break of a record that holds by itself, but claims what another one has claimed. */
  claim: (examined: Examined) => FoundBreak | undefined
  /** What was added since this was asked last; `addTaken` makes another one remember it. */
  takeAdded: () => string[]
  addTaken: (taken: readonly string[]) => void
}

export function createDuplicates(): Duplicates {
  const rows = createSeenKeys()
  const hashes = createSeenKeys()
  const claims = createSeenKeys()
  const all = [rows, hashes, claims]
  return {
    isRepeated(record) {
      hashes.add(record.hash, 0)
      return rows.add(`${record.transactionId} ${whatOf(record)}`, 0).times > 0
    },
    takeAdded: () => all.map((keys) => keys.takeAdded().toString('base64')),
    addTaken(taken) {
      for (const [at, keys] of all.entries()) {
        keys.addTaken(Buffer.from(taken[at] ?? '', 'base64'))
      }
    },
    hasHash: (hash) => hashes.has(hash),
    claim({ record, judgement }) {
      if (judgement.state !== 'matched' || judgement.comparison === undefined) return undefined
      const { transactionId, reference, signedFor, line = 0 } = record
      if (signedFor !== undefined) {
        return duplicate(record, { of: 'eth_transaction_hash', times: 1, mark: 0, by: signedFor })
      }
      const { count: capacity } = judgement.comparison
      const claimed = claims.add(`payment ${whatOf(record)}`, line)
      if (claimed.times >= capacity) return duplicate(record, { of: 'payment', ...claimed })
      const order = claims.add(`transaction ${transactionId}`, line)
      if (order.times > 0) return duplicate(record, { of: 'transaction_id', ...order })
      if (reference === undefined) return undefined
      const referred = claims.add(`reference ${reference}`, line)
      return referred.times > 0 ? duplicate(record, { of: 'reference', ...referred }) : undefined
    },
  }
}

/** Without the status, which may change between two readings of the same row. */
function whatOf({ hash, reference, payee, token, amount }: PaymentRecord): string {
  const { money, currency, text } = amount ?? {}
  // The same money may be written in several ways.
  const paid = money ? [money.token, money.units] : [token, currency, text]
  return [hash, reference, payee, ...paid].join(' ')
}

function duplicate(
  record: PaymentRecord,
  earlier: { of: string; times: number; mark: number; by?: string },
): FoundBreak {
  const kind = 'duplicate_payment'
  return {
    kind,
    recorded: recordedOf(record),
    onChain: { status: 'succeeded', eth_transaction_hash: record.hash },
    evidence: {
      meaning: BREAK_MEANINGS[kind],
      same: earlier.of,
      claimed_before: String(earlier.times),
      ...(earlier.by !== undefined && { claimed_by: earlier.by }),
      ...(earlier.mark > 0 && { first_line: String(earlier.mark) }),
      ...(record.line !== undefined && { line: String(record.line) }),
    },
  }
}
