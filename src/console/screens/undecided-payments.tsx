import { useState } from 'preact/hooks'

import type { UndecidedPayment } from '../../wire/group-b/decisions.ts'
import { useAct } from '../act.ts'
import {
  useEvents,
  useInterval,
  useLoaded,
  usePlatform,
  useThrottled,
  type Loaded,
} from '../context.ts'
import { textsOf } from '../form.ts'
import { Arrivals } from '../parts/arrivals.tsx'
import { CardList, type Columns } from '../parts/cards.tsx'
import { compareDecimals } from '../parts/format.ts'
import { UserLink } from '../parts/names.tsx'
import {
  Amount,
  Back,
  Badge,
  Empty,
  Failure,
  Heading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'

export type UndecidedList = { payments: UndecidedPayment[] }
type Decision = 'accept' | 'refuse'

/** The platform gives so many, the oldest; those that are decided make room for the next. */
export const MOST_UNDECIDED = 100
/** All of them, or the one. */
export function useUndecided(id?: string): Loaded<UndecidedList> {
  const query = { limit: MOST_UNDECIDED, transaction_id: id }
  return useLoaded(`undecided ${id}`, (api, signal) =>
    api.get<UndecidedList>('/api/admin/payments', { signal, query }),
  )
}

/** Payments on chain that are less or late, and wait for people. */
export function PaymentsScreen() {
  const list = useUndecided()
  useInterval(list.reload)
  useEvents(useThrottled(list.reload, 500))
  const payments = list.data?.payments
  return (
    <>
      <Heading>Payments to decide</Heading>
      <CardList
        of={list}
        what="payments"
        rows={payments}
        keyOf={(payment) => payment.transaction_id}
        columns={COLUMNS}
      >
        <Empty title="No payment waits for a decision">
          <p>A crypto checkout appears here when its payment is short or late.</p>
        </Empty>
      </CardList>
      {payments?.length === MOST_UNDECIDED && (
        <p class="faint">These are the oldest {MOST_UNDECIDED}; others follow as you decide.</p>
      )}
    </>
  )
}

const COLUMNS: Columns<UndecidedPayment> = {
  Payment: (payment) => (
    <a href={hashOf(['payments', payment.transaction_id])}>
      <code>{payment.transaction_id}</code>
    </a>
  ),
  State: (payment) => <State of={payment} />,
  Expected: (payment) => <Money decimal={payment.amount_decimal} of={payment} />,
  Received: (payment) => <Money decimal={payment.received_decimal} of={payment} />,
  Latest: (payment) => <Latest payment={payment} />,
  User: (payment) => <UserLink id={payment.user_id} />,
}

function State({ of }: { of: UndecidedPayment }) {
  return <Badge state={(of.gateway_status ?? 'unknown').toLowerCase()} />
}

function Money({ decimal, of }: { decimal: string; of: UndecidedPayment }) {
  return <Amount decimal={decimal} currency={of.currency} />
}

function Latest({ payment }: { payment: UndecidedPayment }) {
  const latest = payment.arrivals.at(-1)
  return latest ? <Time iso={latest.paid_at} /> : <>nothing</>
}

/**
 * One of them: what was asked for, what arrived, and the decision. It is not reloaded by itself: a
 * decision is about what was read. The platform refuses it where more has arrived since.
 */
export function PaymentScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const list = useUndecided(id)
  const [decision, setDecision] = useState<Decision>()
  const [payment] = list.data?.payments ?? []
  return (
    <>
      <Back to="payments">All payments to decide</Back>
      <Heading>{id}</Heading>
      {decision && <Decided id={id} decision={decision} />}
      {!decision && <LoadState of={list} what="the payment" />}
      {!decision && list.data && !payment && (
        <Empty title="There is nothing to decide">
          <p>
            Perhaps it is decided already: see <TransactionLink id={id} />.
          </p>
        </Empty>
      )}
      {!decision && payment && (
        <Payment payment={payment} onDecided={setDecision} reload={list.reload} />
      )}
    </>
  )
}

function TransactionLink({ id }: { id: string }) {
  return <a href={hashOf(['transactions', id])}>the transaction</a>
}

function Decided({ id, decision }: { id: string; decision: Decision }) {
  return (
    <div class={`verdict ${decision === 'accept' ? 'good' : 'waiting'}`} role="status">
      <strong>{decision === 'accept' ? 'Accepted.' : 'Refused.'}</strong>
      <p>
        {decision === 'accept'
          ? 'The payment is completed with the amount received.'
          : 'The payment has failed. The payee keeps what arrived until you send it back.'}
      </p>
      <p>
        Your note is in the history of <TransactionLink id={id} />.
      </p>
    </div>
  )
}

const MEANINGS: Readonly<Record<string, string>> = {
  UNDERPAID: 'The payment is short.',
  DELAYED: 'The payment arrived after the time to pay.',
}

type PaymentProps = {
  payment: UndecidedPayment
  onDecided: (decision: Decision) => void
  reload: () => void
}

function Payment(props: PaymentProps) {
  const { payment } = props
  return (
    <>
      <div class="verdict waiting">
        <strong>{MEANINGS[payment.gateway_status ?? ''] ?? 'It waits for a decision.'}</strong>
      </div>
      <div class="panels two">
        <Panel title="Asked for and received" facts={factsOf(payment)} />
        <Panel title="Decide">
          <DecisionForm {...props} />
        </Panel>
        <Panel title="Received">
          <Arrivals arrivals={payment.arrivals} />
        </Panel>
      </div>
    </>
  )
}

function factsOf(payment: UndecidedPayment) {
  const { amount_decimal: due, received_decimal: received } = payment
  const { sign, difference } = compareDecimals(received, due)
  const off = <Money decimal={difference} of={payment} />
  return [
    ['State', <State of={payment} />],
    ['Expected', <Money decimal={due} of={payment} />],
    ['Received', <Money decimal={received} of={payment} />],
    ...(sign === 0 ? [] : [[sign < 0 ? 'Missing' : 'Too much', off] as const]),
    ['Pay until', payment.expires_at === null ? 'any time' : <Time iso={payment.expires_at} />],
    ['User', <UserLink id={payment.user_id} />],
    ['Record', <TransactionLink id={payment.transaction_id} />],
  ] as const
}

function DecisionForm({ payment, onDecided, reload }: PaymentProps) {
  const { api } = usePlatform()
  const { act, isBusy, error } = useAct()
  const { transaction_id: id, received_decimal: received } = payment
  const decide = async (decision: Decision, note: string): Promise<void> => {
    try {
      const seen = { decision, note, received_decimal: received }
      await api.post(`/api/admin/payments/${encodeURIComponent(id)}/decide`, seen)
    } catch (failure) {
      // More may have arrived: the person who decides looks at that first.
      reload()
      throw failure
    }
    onDecided(decision)
  }
  return (
    <form
      class="act"
      onSubmit={(event) => {
        event.preventDefault()
        const { decision, note = '' } = textsOf(event.currentTarget)
        act(() => decide(decision === 'accept' ? 'accept' : 'refuse', note))
      }}
    >
      {CHOICES.map(({ decision, title, meaning }) => (
        <label key={decision} class="check">
          <input type="radio" name="decision" value={decision} required />
          <span>
            {title} <span class="faint">{meaning}</span>
          </span>
        </label>
      ))}
      <label>
        Why
        <input name="note" required pattern=".*\S.*" maxLength={300} dir="auto" />
      </label>
      {error !== undefined && <Failure error={error} />}
      <p class="buttons">
        <button type="submit" class="primary" disabled={isBusy}>
          Decide
        </button>
      </p>
    </form>
  )
}

/** None is chosen at first: neither is what somebody does by mistake. */
const CHOICES = [
  {
    decision: 'accept',
    title: 'Accept:',
    meaning: 'the payment is completed with the amount received.',
  },
  {
    decision: 'refuse',
    title: 'Refuse:',
    meaning: 'it fails for good. The payee keeps the amount received until you send it back.',
  },
] as const
