import type { DisputeListWire, OwnedDisputeWire } from '../../wire/group-b/console.ts'
import { useInterval, useLoaded } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { sentenceOf } from '../parts/format.ts'
import { Amount, Badge, Empty, Foreign, Heading, Time } from '../parts/parts.tsx'
import { hashOf } from '../route.ts'

const REFRESH_MS = 10_000

/** Payers who went to their bank, and how far each of it is. */
export function DisputesScreen() {
  const list = useLoaded('disputes', (api, signal) =>
    api.get<DisputeListWire>('/api/admin/disputes', { signal, query: { limit: 100 } }),
  )
  useInterval(list.reload, REFRESH_MS)
  return (
    <>
      <Heading>Disputes</Heading>
      <CardList
        of={list}
        what="disputes"
        rows={list.data?.disputes}
        keyOf={(dispute) => dispute.dispute_id}
        columns={COLUMNS}
      >
        <Empty title="No disputes">
          <p>A payment that its payer disputes at the bank appears here.</p>
        </Empty>
      </CardList>
    </>
  )
}

const COLUMNS: Columns<OwnedDisputeWire> = {
  Payment: (dispute) => (
    <a href={hashOf(['transactions', dispute.transaction_id])}>
      <code>{dispute.transaction_id}</code>
    </a>
  ),
  Status: (dispute) => <Badge state={dispute.status ?? 'unknown'} />,
  Amount: (dispute) =>
    dispute.amount_decimal === null ? (
      'not known yet'
    ) : (
      <Amount decimal={dispute.amount_decimal} currency={dispute.currency} />
    ),
  Reason: (dispute) => (dispute.reason === null ? 'not known yet' : sentenceOf(dispute.reason)),
  User: (dispute) => <Foreign text={dispute.username} />,
  Opened: (dispute) => <Time iso={dispute.created_at} />,
}
