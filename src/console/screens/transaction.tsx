import type { ReceiptWire, TransactionLifeWire } from '../../wire/group-b/admin.ts'
import { useAct } from '../act.ts'
import { useEvents, useInterval, useLoaded, usePlatform, useThrottled } from '../context.ts'
import { Arrivals } from '../parts/arrivals.tsx'
import { groupDigits, sentenceOf } from '../parts/format.ts'
import { Objections } from '../parts/objections.tsx'
import {
  Amount,
  Badge,
  Copy,
  Empty,
  Facts,
  Failure,
  Foreign,
  Hash,
  Heading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import { Postings } from '../parts/postings.tsx'
import { explainPending, stepsOf, type Step } from '../parts/timeline.ts'
import { Told } from '../parts/told.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'

const REFRESH_MS = 3000

/** The life of one transaction, and why it is where it is. */
export function TransactionScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const life = useLoaded(id, (api, signal) =>
    api.get<TransactionLifeWire>(`/api/admin/transactions/${encodeURIComponent(id)}`, { signal }),
  )
  const refresh = useThrottled(life.reload, 200)
  useEvents((event) => event.transaction_id === id && refresh())
  const { data } = life
  // Confirmations grow with the chain, and no event tells of them.
  useInterval(() => {
    if (data?.blockchain_transaction?.pending_reason) life.reload()
  }, REFRESH_MS)
  return (
    <>
      <p class="back">
        <a href={hashOf(['transactions'])}>All transactions</a>
      </p>
      <Heading>{id}</Heading>
      <LoadState of={life} what="the transaction" />
      {data && <Life life={data} reload={life.reload} />}
    </>
  )
}

function Life({ life, reload }: { life: TransactionLifeWire; reload: () => void }) {
  const pending = explainPending(life)
  return (
    <>
      <Objections of={life.disputed_by} />
      {pending && (
        <div class="verdict waiting" role="status">
          <strong>Pending: {pending.reason.toLowerCase()}</strong>
          <p>
            {pending.advice}{' '}
            {pending.isUndecided && (
              <a href={hashOf(['payments', life.transaction_id])}>Accept or refuse it</a>
            )}
          </p>
        </div>
      )}
      <div class="panels">
        <Panel title="Record">
          <Facts rows={recordOf(life)} />
        </Panel>
        <Panel title="On chain">
          <ChainFacts life={life} />
        </Panel>
        {life.arrivals.length > 0 && (
          <Panel title="What has come">
            <Arrivals arrivals={life.arrivals} currency={life.currency} />
          </Panel>
        )}
        <Panel title="Timeline">
          <ol class="timeline">
            {stepsOf(life).map((step, index) => (
              <StepItem key={index} step={step} />
            ))}
          </ol>
        </Panel>
        <Panel title="Receipt for the payee">
          <ReceiptPart life={life} reload={reload} />
        </Panel>
        <Panel title="Webhooks">
          <Told about={life.transaction_id} />
        </Panel>
        <Panel title="Ledger postings">
          <Postings
            of={{ subject: life.transaction_id }}
            empty="It moved no money between wallets"
          />
        </Panel>
      </div>
    </>
  )
}

function recordOf(life: TransactionLifeWire) {
  return [
    ['Status', <Badge state={life.status} />],
    ['Amount', <Amount decimal={groupDigits(life.amount_decimal)} currency={life.currency} />],
    ['Type', sentenceOf(life.type)],
    [
      'User',
      <a href={hashOf(['transactions'], { user_id: String(life.user_id) })}>
        <Foreign text={life.username} />
      </a>,
    ],
    ['Description', <Foreign text={life.description} />],
    ['Created', <Time iso={life.created_at} />],
    ['Updated', <Time iso={life.updated_at} />],
    ...(life.gateway_id === null ? [] : [['Gateway', String(life.gateway_id)] as const]),
    ...(life.institution_id === null
      ? []
      : [['Institution', String(life.institution_id)] as const]),
    ...life.refunds.map(
      (refund) =>
        [
          'Refund',
          <>
            <Amount decimal={groupDigits(refund.amount_decimal)} currency={life.currency} />{' '}
            <Badge state={refund.status} />
          </>,
        ] as const,
    ),
    ...(life.external_id === null
      ? []
      : [['External id', <Foreign text={life.external_id} />] as const]),
    ...(life.batch_id === null ? [] : [['Batch', batchLink(life.batch_id)] as const]),
    ...life.disputes.map((dispute) => ['Dispute', <Badge state={dispute.status} />] as const),
    ...Object.entries(life.metadata).map(
      ([name, value]) => [`Metadata: ${name}`, <Foreign text={value} />] as const,
    ),
  ] as const
}

function batchLink(batchId: string) {
  return (
    <a href={hashOf(['batches', batchId])}>
      <code>{batchId}</code>
    </a>
  )
}

function ChainFacts({ life }: { life: TransactionLifeWire }) {
  const { blockchain_transaction: chain, order } = life
  if (!chain) return <Empty title="Nothing was signed for it" />
  const reference = order?.reference ?? chain.reference
  return (
    <Facts
      rows={[
        ['Status', <Badge state={chain.status} />],
        ['Hash', <Hash value={chain.eth_tx_hash} />],
        ['From', <Hash value={chain.from_address} />],
        ['To', <Hash value={chain.to_address} />],
        ...(order ? [['Route', sentenceOf(order.route)] as const] : []),
        ...(reference === null ? [] : [['Reference', <Hash value={reference} />] as const]),
        ['Block', chain.block_number === null ? 'none yet' : groupDigits(`${chain.block_number}`)],
        ['Confirmations', groupDigits(String(chain.confirmations))],
        ['Gas used', chain.gas_used === null ? 'none yet' : groupDigits(`${chain.gas_used}`)],
        ...(chain.error_code === null
          ? []
          : [['Failed because', chain.error_reason ?? sentenceOf(chain.error_code)] as const]),
      ]}
    />
  )
}

function StepItem({ step }: { step: Step }) {
  return (
    <li class={step.tone}>
      <p class="title">
        {step.title} {step.at !== undefined && <Time iso={step.at} />}
      </p>
      <p class="faint">
        <Foreign text={step.detail} />
        {step.hash !== undefined && (
          <>
            {' '}
            <Hash value={step.hash} />
          </>
        )}
      </p>
    </li>
  )
}

function ReceiptPart({ life, reload }: { life: TransactionLifeWire; reload: () => void }) {
  const { api } = usePlatform()
  const { act, isBusy, error } = useAct()
  if (life.receipt_path !== null) {
    const address = new URL(life.receipt_path, location.origin).href
    return (
      <p>
        Whoever has this address may see it: <a href={life.receipt_path}>the receipt</a>{' '}
        <Copy value={address} isWhole={false}>
          the address
        </Copy>
      </p>
    )
  }
  if (life.blockchain_transaction?.status !== 'confirmed') {
    return <Empty title="There is one once the payment is final on the chain" />
  }
  const make = async (): Promise<void> => {
    await api.post<ReceiptWire>(`/api/transactions/${life.transaction_id}/receipt`)
    reload()
  }
  return (
    <>
      <p>A page that proves the payment to the payee, without trust in this platform.</p>
      {error !== undefined && <Failure error={error} />}
      <button type="button" class="primary" disabled={isBusy} onClick={() => act(make)}>
        {isBusy ? 'Proving …' : 'Make a receipt'}
      </button>
    </>
  )
}
