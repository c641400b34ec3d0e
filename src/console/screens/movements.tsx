import type { MovementListWire, MovementWire } from '../../wire/group-b/console.ts'
import { useEvents, useInterval, useLoaded, useThrottled } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { sentenceOf } from '../parts/format.ts'
import { Amount, Badge, Empty, Foreign, Hash, Heading, Time } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging, useCursor } from './paging.tsx'

type Kind = MovementWire['kind']

const TITLES: Readonly<Record<Kind, string>> = { mint: 'Mints', redeem: 'Redeems', wire: 'Wires' }

const EMPTY: Readonly<Record<Kind, string>> = {
  mint: 'A mint of the stablecoin appears here when it is accepted.',
  redeem: 'A redeem appears here when it is requested.',
  wire: 'A wire to a bank appears here when it is accepted.',
}

export function MintsScreen(props: ScreenProps) {
  return <Movements {...props} kind="mint" />
}

export function RedeemsScreen(props: ScreenProps) {
  return <Movements {...props} kind="redeem" />
}

export function WiresScreen(props: ScreenProps) {
  return <Movements {...props} kind="wire" />
}

/** The mints, redeems or wires of all users, newest first. */
function Movements({ route, kind }: ScreenProps & { kind: Kind }) {
  const { user_id: userId } = route.query
  const [after, setAfter] = useCursor(`${kind} ${userId}`)
  const list = useLoaded(`${kind} ${userId} ${after}`, (api, signal) =>
    api.get<MovementListWire>('/api/admin/movements', {
      signal,
      query: { kind, user_id: userId, after, limit: 50 },
    }),
  )
  useEvents(useThrottled(list.reload, 500))
  useInterval(list.reload)
  const { data } = list
  const title = TITLES[kind]
  return (
    <>
      <Heading aside={<SendLink kind={kind} />}>{title}</Heading>
      <CardList
        of={list}
        what={title.toLowerCase()}
        rows={data?.movements}
        keyOf={(movement) => movement.id}
        columns={columnsOf(kind)}
      >
        <Empty title={`No ${title.toLowerCase()} yet`}>
          <p>{EMPTY[kind]}</p>
        </Empty>
      </CardList>
      <Paging cursor={after} next={data?.next_after} onGo={setAfter} />
    </>
  )
}

function SendLink({ kind }: { kind: Kind }) {
  if (kind !== 'mint') return null
  return (
    <a class="button primary" href={hashOf(['send'], { what: 'mint' })}>
      Mint
    </a>
  )
}

function columnsOf(kind: Kind): Columns<MovementWire> {
  return {
    [sentenceOf(kind)]: (movement: MovementWire) => (
      <a href={hashOf(['wallets', 'postings', movement.id])}>
        <code title={movement.id}>{movement.id.slice(0, 8)}</code>
      </a>
    ),
    Amount: (movement) => <Amount decimal={movement.amount_decimal} currency={movement.currency} />,
    Status: (movement) => (
      <>
        <Badge state={movement.status} />{' '}
        {movement.error_code !== null && <span class="faint">{whyOf(movement)}</span>}
      </>
    ),
    User: (movement) => (
      <a href={hashOf([`${kind}s`], { user_id: String(movement.user_id) })}>
        <Foreign text={movement.username} />
      </a>
    ),
    // A redeem goes to a bank: the address is that of the holder, who burns.
    [kind === 'redeem' ? 'Holder' : 'To']: (movement: MovementWire) =>
      movement.to === null ? (
        kind === 'redeem' ? (
          'anyone'
        ) : (
          'none'
        )
      ) : movement.to.startsWith('0x') ? (
        <Hash value={movement.to} />
      ) : (
        <Foreign text={movement.to} />
      ),
    ...(kind !== 'wire' && {
      Hash: (movement: MovementWire) =>
        movement.transaction_hash === null ? (
          'none yet'
        ) : (
          <Hash value={movement.transaction_hash} />
        ),
    }),
    Created: (movement) => <Time iso={movement.created_at} />,
  }
}

/** A wire that the bank has paid can come back, also that of a redeem; its code says why. */
function whyOf({ status, error_code: code }: MovementWire): string {
  const why = sentenceOf(code ?? '')
  return status === 'paid' || status === 'complete' ? `Returned: ${why.toLowerCase()}` : why
}
