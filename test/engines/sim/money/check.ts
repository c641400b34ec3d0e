import { sql } from 'kysely'
import { decodeEventLog, encodeEventTopics, type Hex } from 'viem'

import { referenceDollarAbi } from '../../../../src/bindings/abis.ts'
import { holdingCall } from '../../../../src/chain/read/token.ts'
import { readBalance } from '../../../../src/store/ledger/ledger.ts'
import { readSolvency } from '../../../../src/store/ledger/supply.ts'
import { findOrderOf } from '../../../../src/store/orders/orders.ts'
import { readLedger } from '../../../fixtures/books/money.ts'
import { CHAIN_ID, CONFIRMATIONS, toHex } from '../world.ts'
import { DEPOSIT, type MoneySim } from './sim.ts'

/** Holds ledger, orders and wires against the chain itself. Every sentence must not be. */
export async function moneyWrongs(sim: MoneySim): Promise<string[]> {
  const rows = await readTransfers(sim)
  const memos = await readMemos(sim)
  const burnt = memos.filter(({ kind }) => kind === 'burn')
  const paid = rows.flatMap((row) => (row.kind === 'redeem' ? payingBurn(row, burnt) : []))
  return [
    ...wrongsOfTold(sim, rows),
    ...rows.flatMap((row) => wrongsOfTransfer(row, memos)),
    ...(await wrongsOfPayouts(sim)),
    ...(await wrongsOfWithdrawals(sim)),
    ...(await wrongsOfDeposits(sim)),
    ...(await wrongsOfBalances(sim)),
    ...(await wrongsOfSums(sim, { rows, burnt, paid })),
    ...(await wrongsOfEvents(sim, { burnt, paid })),
  ]
}

export async function countMoney(sim: MoneySim): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { kind, status, code, isOwn } of await readTransfers(sim)) {
    const name = `${isOwn ? 'own ' : ''}${kind}s ${status}${code === null ? '' : ` (${code})`}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  for (const { subject } of sim.payouts) {
    const { state, bundle, errorCode } = (await findOrderOf(sim.db, subject)) ?? {}
    const what = bundle === undefined ? 'payouts' : 'bundled payouts'
    const name = `${what} ${state ?? 'refused'}${errorCode === undefined ? '' : ` (${errorCode})`}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  const { rows: deposits } = await sql`select 1 from deposits`.execute(sim.db)
  counts['deposits'] = deposits.length
  const { rows } = await sql<{ finding: string }>`
    select finding from supply_events where finding is not null`.execute(sim.db)
  for (const { finding } of rows) {
    const name = `burns found to be ${finding}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

type Row = {
  id: string
  kind: 'mint' | 'redeem' | 'withdrawal'
  /** By what an order pays it. */
  route: string | null
  status: 'pending' | 'running' | 'complete' | 'failed'
  code: string | null
  amount: bigint
  memo: Hex
  wires: bigint
  isOwn: boolean
}

async function readTransfers({ db }: MoneySim): Promise<Row[]> {
  const { rows } = await sql<Omit<Row, 'amount'> & { amount: string }>`
    select t.id, t.kind, t.status, t.error_code as code, t.amount::text,
      t.reference as memo,
      (select route from orders where subject = coalesce(t.transaction_id, t.id::text)) as route,
      (select count(*) from wires w where w.purpose = 'redeem' and w.subject = t.id::text
        and w.amount_minor * 10000 = t.amount) as wires,
      exists (select 1 from orders o where o.subject = t.id::text and o.route = 'burn') as "isOwn"
    from transfers t order by t.seq`.execute(db)
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }))
}

type Memo = { kind: 'mint' | 'burn'; amount: bigint; memo: Hex }

const [TOPIC] = encodeEventTopics({ abi: referenceDollarAbi, eventName: 'TransferWithMemo' })

/** Every mint and burn, in the order of the chain. */
async function readMemos({ world, dollar }: MoneySim): Promise<Memo[]> {
  const filter = { address: dollar, fromBlock: '0x0', topics: [TOPIC] }
  const logs = (await world.rpc('eth_getLogs', [filter])) as { topics: [Hex]; data: Hex }[]
  return logs.map(({ topics, data }) => {
    const { args } = decodeEventLog({
      abi: referenceDollarAbi,
      eventName: 'TransferWithMemo',
      topics,
      data,
    })
    const { from = '0x0', amount = 0n, memo = '0x' } = args ?? {}
    return { kind: BigInt(from) === 0n ? 'mint' : 'burn', amount, memo }
  })
}

/** The burn that is as ordered: only the first one is. */
function payingBurn({ memo, amount }: Row, burnt: readonly Memo[]): Memo[] {
  return burnt.filter((one) => one.memo === memo && one.amount === amount).slice(0, 1)
}

function wrongsOfTold(sim: MoneySim, rows: readonly Row[]): string[] {
  const { toldMints, toldRedeems, toldOwnRedeems } = sim
  const stored = new Set(rows.map(({ id }) => id))
  return [...toldMints, ...toldOwnRedeems, ...toldRedeems.map(({ id }) => id)]
    .filter((id) => !stored.has(id))
    .map((id) => `${id} was answered and is not stored`)
}

function wrongsOfTransfer(row: Row, memos: readonly Memo[]): string[] {
  const { kind, id, status, memo, amount, wires } = row
  const name = `the ${kind} ${id}`
  if (kind === 'withdrawal' && row.route !== 'mint') return []
  if (kind !== 'redeem') {
    const minted = memos.filter((one) => one.kind === 'mint' && one.memo === memo)
    const wanted = { pending: -1, running: -1, complete: 1, failed: 0 }[status]
    if (minted.length !== wanted) return [`${name} is ${status}, and minted ${minted.length} times`]
    return minted.every((one) => one.amount === amount) ? [] : [`${name} minted another amount`]
  }
  const burns = memos.filter((one) => one.kind === 'burn')
  const isDue = payingBurn(row, burns).length > 0
  // One whose burn we signed ends where that fails; any other one waits for its holder.
  const isOver = status === 'failed' && wires === 0n && row.isOwn
  if (isOver && isDue) return [`${name} has failed, and was burnt for`]
  if (!isOver && row.isOwn && status === 'pending') return [`${name} was never decided`]
  if (!isOver && isDue !== (status !== 'pending'))
    return [`${name} is ${status}, and was burnt for: ${isDue}`]
  return Number(wires) === (isDue ? 1 : 0) ? [] : [`${name} has ${wires} wires`]
}

/** What was completed has arrived, and nothing else has. */
async function wrongsOfPayouts({ db, world, dollar, payouts }: MoneySim): Promise<string[]> {
  const wrongs: string[] = []
  for (const { subject, payee, amount, isTold } of payouts) {
    const order = await findOrderOf(db, subject)
    if (isTold && order === undefined) wrongs.push(`${subject} was answered and is not stored`)
    const call = [{ to: dollar, data: holdingCall(payee) }, 'latest']
    const arrived = BigInt(String(await world.rpc('eth_call', call)))
    const wanted = order?.state === 'completed' ? amount : 0n
    if (arrived !== wanted) {
      wrongs.push(`${subject} is ${order?.state}, and ${arrived} of ${amount} have arrived`)
    }
  }
  return wrongs
}

/** What was withdrawn has arrived, nothing else has, and both lists say the same of it. */
async function wrongsOfWithdrawals({ db, world, dollar, withdrawals }: MoneySim) {
  const wrongs: string[] = []
  for (const { subject, payee, isTold } of withdrawals) {
    const { rows } = await sql<{ amount: bigint; status: string; recorded: string }>`
      select t.amount, t.status, x.status as recorded
      from transfers t join transactions x using (transaction_id)
      where transaction_id = ${subject}`.execute(db)
    const [row] = rows
    if (isTold && row === undefined) wrongs.push(`${subject} was answered and is not stored`)
    const call = [{ to: dollar, data: holdingCall(payee) }, 'latest']
    const arrived = BigInt(String(await world.rpc('eth_call', call)))
    const wanted = row?.status === 'complete' ? row.amount : 0n
    if (arrived !== wanted) wrongs.push(`${subject} is ${row?.status}, and ${arrived} have arrived`)
    const both = `${row?.status} ${row?.recorded}`
    if (row && both !== 'complete completed' && both !== 'failed failed') {
      wrongs.push(`${subject} is ${both}`)
    }
  }
  return wrongs
}

/** What came to the user's address by transactions of others, and nothing else, is a deposit. */
async function wrongsOfDeposits(sim: MoneySim): Promise<string[]> {
  const { db, since, world } = sim
  const final = (await world.head()) - CONFIRMATIONS + 1
  const came: string[] = []
  for (let number = since; number <= final; number++) {
    came.push(...(await incomingOf(sim, toHex(number))))
  }
  const { rows } = await sql<{ told: string }>`
    select transaction_hash || ' ' || coalesce(d.token, 'ether') || ' ' || d.amount::text as told
    from deposits d join transactions t using (transaction_id)
    where d.gone_at is null and t.status = 'completed' and t.eth_transaction_hash = transaction_hash
    order by block_number, log_index`.execute(db)
  const told = rows.map((row) => row.told)
  const isSame = told.toSorted().join() === came.toSorted().join()
  return isSame ? [] : [`deposits are ${told.join()}, and should be ${came.join()}`]
}

/**
 * Every wei of our addresses is explained up to the last block, but for what they signed elsewhere,
 * and what the plan gave or took: each of these has its break, in the block where it happened.
 */
async function wrongsOfBalances(sim: MoneySim): Promise<string[]> {
  const { db, signers, fundsMoved } = sim
  const { rows } = await sql<{ address: Hex; block: number; facts: string }>`
    select lower(on_chain ->> 'address') as address,
      (evidence ->> 'up_to_block')::float8 as block, (on_chain || evidence)::text as facts
    from breaks where kind = 'unexplained_balance'`.execute(db)
  const signed = new Map<string, Set<number>>()
  for (const address of signers.addresses) signed.set(address, await signedElsewhere(sim, address))
  const unfit = rows.filter(({ address, block }) => {
    return (
      !signed.get(address)?.has(block) && !fundsMoved.some((at) => block === at || block === at + 1)
    )
  })
  const unseen = [...signed].flatMap(([address, blocks]) =>
    [...blocks]
      // A gift behind it may make up for what it cost, before the account is compared.
      .filter((block) => !fundsMoved.some((at) => at >= block))
      .filter((block) => !rows.some((row) => row.address === address && row.block === block))
      .map((block) => `${address} signed elsewhere in ${block}, and no break tells of it`),
  )
  return [
    ...unfit.map(({ facts }) => `no record explains ${facts}`),
    ...unseen,
    ...(await lateAccounts(sim)).map((account) => `${account} is not compared up to the end`),
  ]
}

/** The blocks in which a transaction of the address stands that we did not sign. */
async function signedElsewhere({ db, world, since }: MoneySim, address: Hex): Promise<Set<number>> {
  const { rows } = await sql<{ hash: string }>`
    select hash from attempts where signer = ${address}`.execute(db)
  const ours = new Set(rows.map(({ hash }) => hash))
  const blocks = new Set<number>()
  const final = (await world.head()) - CONFIRMATIONS + 1
  for (let number = since; number <= final; number++) {
    const block = await world.rpc('eth_getBlockByNumber', [toHex(number), true])
    for (const { hash, from } of (block as { transactions: Shown[] }).transactions) {
      if (from === address && !ours.has(hash)) blocks.add(number)
    }
  }
  return blocks
}

/** Accounts that are not compared up to the last final block. */
export async function lateAccounts({ db, world }: MoneySim): Promise<string[]> {
  const final = (await world.head()) - CONFIRMATIONS + 1
  const { rows } = await sql<{ account: string }>`
    select address || ' ' || token as account from balances
    where block_number <> ${final} or seen_at is not null`.execute(db)
  return rows.map(({ account }) => account)
}

type Shown = { hash: string; from: string; to: string | null; value: string }

async function incomingOf({ world, dollar, custodian, signers }: MoneySim, at: Hex) {
  const block = (await world.rpc('eth_getBlockByNumber', [at, true])) as { transactions: Shown[] }
  const came: string[] = []
  for (const { hash, from, to, value } of block.transactions) {
    if ((signers.addresses as string[]).includes(from)) continue
    const receipt = (await world.rpc('eth_getTransactionReceipt', [hash])) as {
      status: string
      logs: { address: string; topics: string[]; data: string }[]
    }
    if (receipt.status !== '0x1') continue
    if (to === custodian && BigInt(value) > 0n) came.push(`${hash} ether ${BigInt(value)}`)
    for (const { address, topics, data } of receipt.logs) {
      const isHere = address === dollar && topics[0] === TRANSFER && topics.length === 3
      if (isHere && topics[2]!.endsWith(custodian.slice(2))) {
        came.push(`${hash} ${dollar} ${BigInt(data)}`)
      }
    }
  }
  return came
}

const [TRANSFER] = encodeEventTopics({ abi: referenceDollarAbi, eventName: 'Transfer' })

type Facts = { rows: readonly Row[]; burnt: readonly Memo[]; paid: readonly Memo[] }

async function wrongsOfSums(sim: MoneySim, { rows, burnt, paid }: Facts): Promise<string[]> {
  const { db, wallet, dollar: token, world } = sim
  const solvency = await readSolvency(db, { chainId: CHAIN_ID, token })
  const sumOf = (is: (row: Row) => boolean): bigint => totalOf(rows.filter(is))
  const supply = BigInt(
    String(await world.rpc('eth_call', [{ to: token, data: '0x18160ddd' }, 'latest'])),
  )
  const minted = sumOf(({ kind, status }) => kind !== 'redeem' && status === 'complete')
  const cameBack = sumOf(
    ({ kind, code, wires }) => kind === 'redeem' && code !== null && wires > 0n,
  )
  const held = sumOf(({ kind, status }) => kind === 'redeem' && status === 'running')
  const final = BigInt((await world.head()) - CONFIRMATIONS + 1)
  const { sum, astray } = await readLedger(db)
  const found = {
    sum,
    astray: BigInt(astray),
    wallet: await readBalance(db, { wallet }),
    held: await readBalance(db, { heldOf: wallet }),
    liability: await readBalance(db, { stablecoinOn: CHAIN_ID }),
    unclaimed: await readBalance(db, { system: 'unclaimed' }),
    treasury: await readBalance(db, { system: 'treasury' }),
    drift: solvency?.drift,
    'the last block that was read': solvency?.blockNumber,
  }
  const wanted: typeof found = {
    sum: 0n,
    astray: 0n,
    wallet: DEPOSIT - minted + cameBack,
    held,
    liability: supply,
    unclaimed: totalOf(burnt) - totalOf(paid),
    treasury: sumOf(
      ({ route, status }) => (route === 'token' || route === 'permit') && status === 'complete',
    ),
    drift: 0n,
    'the last block that was read': final,
  }
  return Object.keys(found).flatMap((name) => {
    const [is, should] = [found, wanted].map((all) => all[name as keyof typeof found])
    return is === should ? [] : [`${name} is ${is}, and should be ${should}`]
  })
}

/** Each burn was taken to the books once, and what nobody ordered like that has a break. */
async function wrongsOfEvents(
  { db }: MoneySim,
  { burnt, paid }: Pick<Facts, 'burnt' | 'paid'>,
): Promise<string[]> {
  const { rows } = await sql<{ events: bigint; findings: bigint; breaks: bigint; drifts: bigint }>`
    select (select count(*) from supply_events where kind = 'burn') as events,
      (select count(*) from supply_events where finding is not null) as findings,
      (select count(*) from breaks
        where state = 'open' and kind <> 'unexplained_balance') as breaks,
      (select count(*) from breaks where kind = 'supply_drift') as drifts`.execute(db)
  const { events = 0n, findings = 0n, breaks = 0n, drifts = 0n } = rows[0] ?? {}
  const misfits = burnt.length - paid.length
  return [
    ...(Number(events) === burnt.length ? [] : [`${burnt.length} burns, of which ${events} known`]),
    ...(Number(findings) === misfits ? [] : [`${misfits} misfits, and ${findings} findings`]),
    ...(breaks > 0n === misfits > 0 ? [] : [`${misfits} misfits, and ${breaks} breaks`]),
    ...(drifts === 0n ? [] : ['a drift of the supply was seen']),
  ]
}

function totalOf(amounts: readonly { amount: bigint }[]): bigint {
  return amounts.reduce((sum, { amount }) => sum + amount, 0n)
}
