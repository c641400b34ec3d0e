import type { StreamEventWire } from '../../wire/group-b/admin.ts'
import type { ObjectionWire } from '../../wire/group-b/transactions.ts'
import { hashOf } from '../route.ts'
import { sentenceOf } from './format.ts'
import { Badge, Time } from './parts.tsx'

/** Says on a transaction's page what speaks against it, and leads there. */
export function Objections({ of }: { of: readonly ObjectionWire[] }) {
  if (of.length === 0) return null
  return (
    <div class="verdict bad" role="alert">
      <strong>Disputed: the chain does not show what the record says</strong>
      <ul>
        {of.map(({ kind, id, reason, opened_at: openedAt }) => (
          <li key={`${kind} ${id}`}>
            {kind === 'break' ? (
              <a href={hashOf(['breaks', id])}>Break: {sentenceOf(reason).toLowerCase()}</a>
            ) : (
              <a href={hashOf(['alerts'])}>Alert: {sentenceOf(reason).toLowerCase()}</a>
            )}
            , open since <Time iso={openedAt} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The status in a list, and next to it whether something contradicts it. */
export function StatusCell({ status, of }: { status: string; of: readonly ObjectionWire[] }) {
  return (
    <>
      <Badge state={status} />
      {of.length > 0 && (
        <>
          {' '}
          <Badge state="disputed" />
        </>
      )}
    </>
  )
}

/** What speaks against a transaction after the event, for a list that is not read again. */
export function objectionsAfter(
  before: readonly ObjectionWire[],
  { type, reason, created_at: openedAt }: StreamEventWire,
): ObjectionWire[] {
  const [, kind, move] = /^transaction\.(break|alert)_(opened|closed)$/.exec(type) ?? []
  if (kind === undefined || reason === null) return [...before]
  const others = before.filter((one) => one.kind !== kind || one.reason !== reason)
  if (move === 'closed') return others
  return [...others, { kind: kind as ObjectionWire['kind'], id: '', reason, opened_at: openedAt }]
}
