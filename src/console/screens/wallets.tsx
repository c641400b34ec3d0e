import type { OwnedWalletListWire, OwnedWalletWire } from '../../wire/group-b/ledger.ts'
import { useInterval, useLoaded } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { sentenceOf } from '../parts/format.ts'
import { Amount, Back, Empty, Foreign, Heading, LoadState, Panel, Time } from '../parts/parts.tsx'
import { Postings } from '../parts/postings.tsx'
import { Told } from '../parts/told.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { FORWARD, Paging, useCursor } from './paging.tsx'

const PATH = '/api/admin/wallets'

/** The wallets of all users, and the accounts of the platform. */
export function WalletsScreen({ route }: ScreenProps) {
  const userId = route.query['user_id']
  const [after, setAfter] = useCursor(`${userId}`)
  const list = useLoaded(`wallets ${userId} ${after}`, (api, signal) =>
    api.get<OwnedWalletListWire>(PATH, { signal, query: { user_id: userId, after, limit: 50 } }),
  )
  useInterval(list.reload)
  const { data } = list
  return (
    <>
      <Heading>Wallets</Heading>
      <CardList
        of={list}
        what="wallets"
        rows={data?.wallets}
        keyOf={(wallet) => wallet.wallet_id}
        columns={COLUMNS}
      >
        <Empty title="This wallet does not exist">
          <p>
            <a href={hashOf(['wallets'])}>Show all wallets</a>
          </p>
        </Empty>
      </CardList>
      <Paging cursor={after} next={data?.next_after} onGo={setAfter} words={FORWARD} />
      {data && <Platform accounts={data.platform} />}
    </>
  )
}

const COLUMNS: Columns<OwnedWalletWire> = {
  Wallet: (wallet) => (
    <>
      <a href={hashOf(['wallets', wallet.wallet_id])}>{wallet.wallet_id}</a>{' '}
      <span class="faint">
        <Foreign text={wallet.description} />
      </span>
    </>
  ),
  User: (wallet) => (
    <a href={hashOf(['wallets'], { user_id: String(wallet.user_id) })}>
      <Foreign text={wallet.username} />
    </a>
  ),
  Balance: (wallet) => <Amount decimal={wallet.balance} currency={wallet.currency} />,
  Held: (wallet) => <Amount decimal={wallet.held} currency={wallet.currency} />,
  Opened: (wallet) => <Time iso={wallet.created_at} />,
}

const ACCOUNTS: Readonly<Record<OwnedWalletListWire['platform'][number]['account'], string>> = {
  bank: 'Came in through the bank, and out again',
  stablecoin: 'Out as stablecoin',
  unclaimed: 'Burnt without an order',
  treasury: 'Paid out of holdings',
}

function Platform({ accounts }: { accounts: OwnedWalletListWire['platform'] }) {
  return (
    <div class="panels">
      <Panel
        title="In no wallet"
        areFigures
        facts={accounts.map(
          ({ account, chain, currency, balance }) =>
            [
              chain === null ? ACCOUNTS[account] : `${ACCOUNTS[account]} on ${chain}`,
              <Amount decimal={balance} currency={currency} />,
            ] as const,
        )}
      >
        <p class="faint">Together with all wallets and what is held, these sum to zero.</p>
      </Panel>
    </div>
  )
}

/** One wallet and its postings; or, below it, all postings for one payment or transfer. */
export function WalletScreen({ route }: ScreenProps) {
  const [, id = '', subject] = route.path
  return (
    <>
      <Back to="wallets">All wallets</Back>
      {id === 'postings' && subject !== undefined ? (
        <SubjectPart subject={subject} />
      ) : (
        <WalletPart id={id} />
      )}
    </>
  )
}

function SubjectPart({ subject }: { subject: string }) {
  return (
    <>
      <Heading>{subject}</Heading>
      <Postings of={{ subject }} empty="No postings" />
      <div class="panels">
        <Told about={subject} />
      </div>
    </>
  )
}

function WalletPart({ id }: { id: string }) {
  const list = useLoaded(`wallet ${id}`, (api, signal) =>
    api.get<OwnedWalletListWire>(PATH, { signal, query: { wallet_id: id } }),
  )
  useInterval(list.reload)
  const { data } = list
  const [wallet] = data?.wallets ?? []
  return (
    <>
      <Heading>{`Wallet ${id}`}</Heading>
      <LoadState of={list} what="the wallet" />
      {data && !wallet && <Empty title="This wallet does not exist" />}
      {wallet && (
        <>
          <div class="panels wallet">
            <Panel title={sentenceOf(wallet.type)} facts={factsOf(wallet)} />
          </div>
          <h2 class="part">Postings</h2>
          <Postings of={{ wallet_id: id }} empty="No postings yet" />
        </>
      )}
    </>
  )
}

function factsOf(wallet: OwnedWalletWire) {
  const { currency } = wallet
  return [
    ['User', <Foreign text={wallet.username} />],
    ['Description', <Foreign text={wallet.description} />],
    ['Balance', <Amount decimal={wallet.balance} currency={currency} />],
    ['Held', <Amount decimal={wallet.held} currency={currency} />],
    ['Opened', <Time iso={wallet.created_at} />],
  ] as const
}
