import type { ReceiptWire, TransactionLifeWire } from '../../wire/group-b/admin.ts'
import { useAct } from '../act.ts'
import {
  useChains,
  useEvents,
  useInterval,
  useLoaded,
  usePlatform,
  useThrottled,
} from '../context.ts'
import { Arrivals } from '../parts/arrivals.tsx'
import { explorerOf } from '../parts/explorers.ts'
import { formatUnits, groupDigits, sentenceOf } from '../parts/format.ts'
import { RailName, UserLink, Who } from '../parts/names.tsx'
import { Objections, StatusCell } from '../parts/objections.tsx'
import {
  Amount,
  Back,
  Badge,
  Copy,
  Failure,
  Foreign,
  Hash,
  Heading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import { Postings } from '../parts/postings.tsx'
import { explainPending, isGone, stepsOf, type Step } from '../parts/timeline.ts'
import { Told } from '../parts/told.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { TransactionActions } from './transaction-actions.tsx'

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
  // Confirmations grow with the chain, and no event reports them.
  useInterval(() => {
    if (data?.blockchain_transaction?.pending_reason) life.reload()
  }, REFRESH_MS)
  return (
    <>
      <Back to="transactions">All transactions</Back>
      <Heading>{id}</Heading>
      <LoadState of={life} what="the transaction" />
      {data && <Life life={data} reload={life.reload} />}
    </>
  )
}

function Life({ life, reload }: { life: TransactionLifeWire; reload: () => void }) {
  return (
    <>
      <Hero life={life} reload={reload} />
      <Objections of={life.disputed_by} />
      <LostDisputes of={life} />
      <PendingNote life={life} />
      <div class="columns">
        <div>
          <Panel title="Timeline">
            <ol class="timeline">
              {stepsOf(life).map((step, index) => (
                <StepItem key={index} step={step} />
              ))}
            </ol>
          </Panel>
        </div>
        <div>
          <Panel title="Record" facts={recordOf(life)} />
          <ChainPanel life={life} />
          <ReceiptPart life={life} reload={reload} />
          <Told about={life.transaction_id} />
        </div>
      </div>
      {life.arrivals.length > 0 && (
        <Panel title="Received">
          <Arrivals arrivals={life.arrivals} />
        </Panel>
      )}
      <Postings of={{ subject: life.transaction_id }} title="Ledger postings" />
    </>
  )
}

/** How much, how far it is, and what can be done about it. */
function Hero({ life, reload }: { life: TransactionLifeWire; reload: () => void }) {
  return (
    <div class="hero">
      <p class="big">
        <Amount decimal={life.amount_decimal} currency={life.currency} />
      </p>
      <p class="states">
        <StatusCell status={life.status} of={life.disputed_by} />
        {isPartlyRefunded(life) && <Badge state="partly_refunded" />}
        {life.disputes.map(({ dispute_id: id, status }) => (
          <Badge key={id} state={`dispute_${status}`} tone={status} />
        ))}
      </p>
      <p class="faint">
        <Foreign text={life.description} />
      </p>
      <TransactionActions life={life} reload={reload} />
    </div>
  )
}

function isPartlyRefunded({ refunded_decimal: back, status }: TransactionLifeWire): boolean {
  return status !== 'refunded' && /[1-9]/.test(back)
}

function PendingNote({ life }: { life: TransactionLifeWire }) {
  const pending = explainPending(life)
  if (!pending) return null
  return (
    <div class="verdict waiting" role="status">
      <strong>Pending: {pending.reason.toLowerCase()}</strong>
      <p>
        {pending.advice}{' '}
        {pending.isUndecided && (
          <a href={hashOf(['payments', life.transaction_id])}>Accept or refuse it</a>
        )}
      </p>
    </div>
  )
}

/** The money is gone, whatever the status of the payment says. */
function LostDisputes({ of: { disputes, currency } }: { of: TransactionLifeWire }) {
  const lost = disputes.filter(({ status }) => status === 'lost')
  if (lost.length === 0) return null
  return (
    <div class="verdict bad" role="alert">
      <strong>Dispute lost</strong>
      {lost.map(({ dispute_id: id, amount_decimal: decimal, reason }) => (
        <p key={id}>
          The payer’s bank took back <Amount decimal={decimal} currency={currency} />:{' '}
          {sentenceOf(reason).toLowerCase()}.
        </p>
      ))}
    </div>
  )
}

function recordOf(life: TransactionLifeWire) {
  const { refunded_decimal: refunded } = life
  return [
    ['Type', sentenceOf(life.type)],
    ['User', <UserLink id={life.user_id} name={life.username} />],
    ['Created', <Time iso={life.created_at} />],
    ['Updated', <Time iso={life.updated_at} />],
    ...(life.gateway_id === null
      ? []
      : [['Gateway', <RailName of="gateway" id={life.gateway_id} />] as const]),
    ...(life.institution_id === null
      ? []
      : [['Institution', <RailName of="institution" id={life.institution_id} />] as const]),
    ...(/[1-9]/.test(refunded)
      ? [['Refunded', <Amount decimal={refunded} currency={life.currency} />] as const]
      : []),
    ...life.refunds.map(
      (refund) =>
        [
          'Refund',
          <>
            <Amount decimal={refund.amount_decimal} currency={life.currency} />{' '}
            <Badge state={refund.status} /> <Time iso={refund.created_at} />
          </>,
        ] as const,
    ),
    ...(life.external_id === null
      ? []
      : [['External id', <Foreign text={life.external_id} />] as const]),
    ...(life.batch_id === null ? [] : [['Batch', batchLink(life.batch_id)] as const]),
    ...life.disputes.map(
      ({ reason, status }) =>
        [
          'Dispute',
          <>
            <Badge state={status} /> <span class="faint">{sentenceOf(reason)}</span>
          </>,
        ] as const,
    ),
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

function ChainPanel({ life }: { life: TransactionLifeWire }) {
  const { blockchain_transaction: chain, order, arrivals } = life
  const chains = useChains()
  if (!chain) return null
  const reference = order?.reference ?? chain.reference
  const { chain_id: chainId } = chains.find((one) => one.chain === life.chain) ?? {}
  const explorer = explorerOf(chainId, chain.eth_tx_hash)
  const payers = [...new Set(arrivals.map(({ payer }) => payer))]
  return (
    <Panel
      title="On chain"
      aside={
        explorer !== undefined && (
          <a href={explorer} rel="noreferrer">
            Open in the explorer
          </a>
        )
      }
      facts={[
        ...(chains.length > 1 ? [['Chain', life.chain] as const] : []),
        ['Status', <Badge state={isGone(life) ? 'not_on_chain' : chain.status} />],
        ['Hash', <Hash value={chain.eth_tx_hash} />],
        ['From', <Hash value={chain.from_address} />],
        ['To', <Hash value={chain.to_address} />],
        ...payers
          .filter((payer) => payer !== chain.from_address)
          .map((payer) => ['Payer', <Hash value={payer} />] as const),
        ...(order ? [['Route', sentenceOf(order.route)] as const] : []),
        ...(reference === null ? [] : [['Reference', <Hash value={reference} />] as const]),
        ['Block', chain.block_number === null ? 'none yet' : groupDigits(chain.block_number)],
        ['Confirmations', groupDigits(chain.confirmations)],
        ...feeRows(chain),
        ...(chain.error_code === null
          ? []
          : [['Failed because', chain.error_reason ?? sentenceOf(chain.error_code)] as const]),
      ]}
    />
  )
}

/** Paid in the coin of the chain, by the receipt. */
function feeRows(chain: NonNullable<TransactionLifeWire['blockchain_transaction']>) {
  const { coin, gas_used: used, gas_price: price, rollup_fee: rollup } = chain
  if (used === null || price === null) return []
  const forL1 = BigInt(rollup ?? 0)
  const fee = formatUnits(BigInt(used) * BigInt(price) + forL1, 18)
  return [
    ['Fee paid', <Amount decimal={fee} currency={coin} />],
    ...(forL1 === 0n
      ? []
      : [['Of it for L1', <Amount decimal={formatUnits(forL1, 18)} currency={coin} />] as const]),
    ['Gas used', groupDigits(used)],
  ] as const
}

function StepItem({ step }: { step: Step }) {
  return (
    <li class={step.tone}>
      <p class="title">
        {step.title} {step.at !== undefined && <Time iso={step.at} />}
      </p>
      <p class="faint">
        <Foreign text={step.detail} />
        {step.by !== undefined && (
          <>
            {' '}
            <Who actor={step.by} />
          </>
        )}
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
      <Panel title="Receipt for the payee">
        <p>
          Anyone with this address can see it: <a href={life.receipt_path}>the receipt</a>{' '}
          <Copy value={address} isWhole={false}>
            the address
          </Copy>
        </p>
      </Panel>
    )
  }
  if (life.blockchain_transaction?.status !== 'confirmed') return null
  const make = async (): Promise<void> => {
    await api.post<ReceiptWire>(`/api/transactions/${life.transaction_id}/receipt`)
    reload()
  }
  return (
    <Panel title="Receipt for the payee">
      <p>A page that proves the payment to the payee, who need not trust this platform.</p>
      {error !== undefined && <Failure error={error} />}
      <p class="buttons">
        <button type="button" disabled={isBusy} onClick={() => act(make)}>
          {isBusy ? 'Proving …' : 'Create a receipt'}
        </button>
      </p>
    </Panel>
  )
}
