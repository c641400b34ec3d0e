import { useState } from 'preact/hooks'

import type { PostingListWire, PostingWire } from '../../wire/group-b/ledger.ts'
import { useLoaded } from '../context.ts'
import { hashOf } from '../route.ts'
import { Paging } from '../screens/paging.tsx'
import { CardList, type Columns } from './cards.tsx'
import { sentenceOf, shortHash } from './format.ts'
import { Amount, Empty, Panel, Time } from './parts.tsx'

type Wanted = { wallet_id?: string; subject?: string }

/** What moved between the accounts of the ledger; where nothing did, `empty` or not a thing. */
export function Postings(props: { of: Wanted; empty?: string; title?: string }) {
  const { of, empty, title } = props
  const [after, setAfter] = useState<string>()
  const list = useLoaded(`postings ${JSON.stringify(of)} ${after}`, (api, signal) =>
    api.get<PostingListWire>('/api/admin/postings', {
      signal,
      query: { ...of, after, limit: 50 },
    }),
  )
  const { data } = list
  const isEmpty = data?.postings.length === 0
  if (empty === undefined && (isEmpty || (!data && list.error === undefined))) return null
  const shown = (
    <>
      <CardList
        of={list}
        what="postings"
        rows={data?.postings}
        keyOf={(posting) => posting.id}
        columns={columnsOf(of)}
      >
        <Empty title={empty ?? ''} />
      </CardList>
      <Paging cursor={after} next={data?.next_after} onGo={setAfter} />
    </>
  )
  return title === undefined ? shown : <Panel title={title}>{shown}</Panel>
}

function columnsOf({ wallet_id, subject }: Wanted): Columns<PostingWire> {
  return {
    Posting: (posting) => sentenceOf(posting.kind),
    Amount: (posting) => <Amount decimal={posting.amount} currency={posting.currency} />,
    From: (posting) => <Side side={posting.from} own={wallet_id} />,
    To: (posting) => <Side side={posting.to} own={wallet_id} />,
    ...(subject === undefined && {
      For: (posting: PostingWire) => <Subject id={posting.subject} />,
    }),
    Posted: (posting) => <Time iso={posting.created_at} />,
  }
}

const ACCOUNTS: Readonly<Record<PostingWire['from']['account'], string>> = {
  wallet: 'Wallet',
  held: 'Held of',
  bank: 'The bank',
  stablecoin: 'Out as stablecoin',
  unclaimed: 'Unclaimed',
  treasury: 'Treasury',
}

function Side({ side, own }: { side: PostingWire['from']; own: string | undefined }) {
  const name = ACCOUNTS[side.account]
  if (side.wallet_id === null) return <>{name}</>
  if (side.wallet_id === own) return <>{side.account === 'held' ? 'Held' : 'This wallet'}</>
  return (
    <>
      {name} <a href={hashOf(['wallets', side.wallet_id])}>{side.wallet_id}</a>
    </>
  )
}

/** A transaction has a screen of its own; anything else is shown by what it moved. */
function Subject({ id }: { id: string }) {
  const path = /^TX\d+$/.test(id) ? ['transactions', id] : ['wallets', 'postings', id]
  return (
    <a href={hashOf(path)}>
      <code title={id}>{shortHash(id)}</code>
    </a>
  )
}
