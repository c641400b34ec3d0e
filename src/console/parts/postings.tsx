import { useState } from 'preact/hooks'

import type { PostingListWire, PostingWire } from '../../wire/group-b/ledger.ts'
import { useLoaded } from '../context.ts'
import { groupDigits, sentenceOf, shortHash } from './format.ts'
import { Amount, Empty, LoadState, Time } from './parts.tsx'
import { hashOf } from '../route.ts'
import { Paging } from '../screens/paging.tsx'

/** What moved between the accounts of the ledger: of one wallet, or for one thing. */
export function Postings(props: { of: { wallet_id?: string; subject?: string }; empty: string }) {
  const { of, empty } = props
  const [after, setAfter] = useState<string>()
  const list = useLoaded(`postings ${JSON.stringify(of)} ${after}`, (api, signal) =>
    api.get<PostingListWire>('/api/admin/postings', {
      signal,
      query: { ...of, after, limit: 50 },
    }),
  )
  const { data } = list
  return (
    <>
      <LoadState of={list} what="postings" />
      {data?.postings.length === 0 && <Empty title={empty} />}
      {data && data.postings.length > 0 && (
        <Table postings={data.postings} wallet={of.wallet_id} hasSubject={!of.subject} />
      )}
      <Paging cursor={after} next={data?.next_after} onGo={setAfter} />
    </>
  )
}

function Table(props: {
  postings: readonly PostingWire[]
  wallet: string | undefined
  hasSubject: boolean
}) {
  const { postings, wallet, hasSubject } = props
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">Posting</th>
          <th scope="col">Amount</th>
          <th scope="col">From</th>
          <th scope="col">To</th>
          {hasSubject && <th scope="col">For</th>}
          <th scope="col">Posted</th>
        </tr>
      </thead>
      <tbody>
        {postings.map((posting) => (
          <tr key={posting.id}>
            <th scope="row">{sentenceOf(posting.kind)}</th>
            <td data-column="Amount">
              <Amount decimal={groupDigits(posting.amount)} currency={posting.currency} />
            </td>
            <td data-column="From">
              <Side side={posting.from} own={wallet} />
            </td>
            <td data-column="To">
              <Side side={posting.to} own={wallet} />
            </td>
            {hasSubject && (
              <td data-column="For">
                <Subject id={posting.subject} />
              </td>
            )}
            <td data-column="Posted">
              <Time iso={posting.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const ACCOUNTS: Readonly<Record<PostingWire['from']['account'], string>> = {
  wallet: 'Wallet',
  held: 'Held of',
  bank: 'The bank',
  stablecoin: 'Out as stablecoin',
  unclaimed: 'Unclaimed',
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
