import { useState } from 'preact/hooks'

import type {
  PlatformSignerWire,
  SignerListWire,
  StablecoinWire,
  UserSignerWire,
} from '../../wire/group-b/signers.ts'
import { useInterval, useLoaded } from '../context.ts'
import { Cards } from '../parts/cards.tsx'
import { useChainChoice } from '../parts/chain-choice.tsx'
import { sentenceOf } from '../parts/format.ts'
import { UserLink } from '../parts/names.tsx'
import {
  Amount,
  Badge,
  Empty,
  Foreign,
  Hash,
  Heading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import { FORWARD, Paging } from './paging.tsx'

/** The addresses that sign: what each has, and what it needs. */
export function SignersScreen() {
  const { chain, choice } = useChainChoice()
  const [afterId, setAfterId] = useState<number>()
  const list = useLoaded(`signers ${chain} ${afterId}`, (api, signal) =>
    api.get<SignerListWire>('/api/admin/signers', {
      signal,
      query: { chain, after_id: afterId, limit: 50 },
    }),
  )
  useInterval(list.reload)
  const { data } = list
  return (
    <>
      <Heading>Signers</Heading>
      {choice && <div class="filters">{choice}</div>}
      <LoadState of={list} what="signers" />
      {data && (
        <div class="panels">
          {data.platform.map((signer) => (
            <Own key={signer.address} signer={signer} coin={data.coin} />
          ))}
          {data.stablecoin && <Token token={data.stablecoin} />}
        </div>
      )}
      {data && <h2 class="part">Users’ addresses</h2>}
      {data?.users.length === 0 && (
        <Empty title="No user has an address yet">
          <p>A user gets an address with the first payment on the chain.</p>
        </Empty>
      )}
      {data && data.users.length > 0 && <Table users={data.users} coin={data.coin} />}
      <Paging cursor={afterId} next={data?.next_after_id} onGo={setAfterId} words={FORWARD} />
    </>
  )
}

function Own({ signer, coin }: { signer: PlatformSignerWire; coin: string }) {
  const { mint, alerts } = signer
  return (
    <Panel
      title="The platform’s own"
      facts={[
        ['Address', <Hash value={signer.address} />],
        ['Signs', signer.purposes.map(sentenceOf).join(', ')],
        ['Balance', <Held coin={coin} decimal={signer.balance_decimal} />],
        ['Next 100 payments', <Held coin={coin} decimal={signer.needed_decimal} />],
        ['Gas today', <Held coin={coin} decimal={signer.gas_today_decimal} />],
        ['Next nonce', String(signer.next_nonce ?? 'Unknown')],
        ['In progress', String(signer.on_its_way)],
        ['Can mint', mint === null ? 'Unknown' : mintOf(mint)],
        ...alerts.map(
          ({ kind, since }) =>
            [
              sentenceOf(kind),
              <>
                <Badge state="open" /> {REMEDIES[kind]} Since <Time iso={since} />
              </>,
            ] as const,
        ),
      ]}
    />
  )
}

function Token({ token }: { token: StablecoinWire }) {
  const { is_paused: isPaused } = token
  return (
    <Panel
      title="The stablecoin"
      facts={[
        ['Token', <Foreign text={token.symbol ?? 'Without a symbol'} />],
        ['Address', <Hash value={token.address} />],
        ['Decimals', String(token.decimals)],
        ['Kind', PROFILES[token.profile]],
        ['Paused', isPaused === null ? 'Unknown' : isPaused ? 'Yes' : 'No'],
      ]}
    />
  )
}

const PROFILES: Readonly<Record<StablecoinWire['profile'], string>> = {
  memo: 'Its mints and burns name their order',
  fiat_token: 'Like USDC',
  erc20: 'A plain ERC-20',
}

function Held({ decimal, coin }: { decimal: string | null; coin: string }) {
  return decimal === null ? <>Unknown</> : <Amount decimal={decimal} currency={coin} />
}

function mintOf({ is_minter: isMinter, allowance }: NonNullable<PlatformSignerWire['mint']>) {
  if (!isMinter) return 'Nothing: it is not a minter'
  // A limit that nobody reaches has more digits than anybody reads.
  if (allowance.replace(/\..*/, '').length <= QUADRILLION.length) {
    return <Amount decimal={allowance} currency="USD" />
  }
  return (
    <>
      more than <Amount decimal={QUADRILLION} currency="USD" />
    </>
  )
}

const QUADRILLION = '1000000000000000'

const REMEDIES: Readonly<Record<PlatformSignerWire['alerts'][number]['kind'], string>> = {
  signer_funds_low: 'Send native coin to it.',
  minter_missing: 'Ask the admin of the token to make it a minter.',
  mint_allowance_used_up: 'Ask the admin of the token to raise its allowance.',
  signer_frozen: 'Ask the issuer of the token to unfreeze it, or set another signer.',
  mint_allowance_exceeded: 'Ask the admin of the token to raise its allowance.',
}

function Table({ users, coin }: { users: readonly UserSignerWire[]; coin: string }) {
  return (
    <Cards
      rows={users}
      keyOf={(user) => user.user_id}
      columns={{
        User: (user) => <UserLink id={user.user_id} name={user.username} />,
        Address: (user) => <Hash value={user.address} />,
        Balance: (user) => <Held coin={coin} decimal={user.balance_decimal} />,
        'In progress': (user) => String(user.on_its_way),
        'Next nonce': (user) => String(user.next_nonce ?? 'Unknown'),
        'Gas today': (user) => <Held coin={coin} decimal={user.gas_today_decimal} />,
      }}
    />
  )
}
