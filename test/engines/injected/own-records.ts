import { systemClock } from '../../../src/base/clock.ts'
import type { Hex } from '../../../src/chain/hex.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import { referenceDollar } from '../../../src/deploy/deployables.ts'
import type { BreakKind } from '../../../src/domain/breaks.ts'
import type { SupplyWatch } from '../../../src/ledger/watch-supply.ts'
import { createNode } from '../../../src/reconciler/chain/node.ts'
import { createExaminer } from '../../../src/reconciler/judge/examine.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { post } from '../../../src/store/ledger/ledger.ts'
import { ledgerOf } from '../../fixtures/books/money.ts'
import { allBreaks, runOnce, runsDeps } from '../../fixtures/books/runs.ts'
import { watchOf } from '../../fixtures/books/supply-bench.ts'
import { calls, CHAIN_ID } from '../../fixtures/books/verify.ts'
import { recordSettlements } from '../../fixtures/chain/recorded-settlements.ts'
import {
  confirm,
  fillSettlements,
  startSettledChain,
  type SettledChain,
} from '../../fixtures/chain/settled-chain.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { createWorld, type World } from '../sim/world.ts'
import type { Scored } from './file.ts'
import { scoreOf } from './score.ts'

const CONFIRMATIONS = 3
const PER_BLOCK = 50
const CHUNK = 5_000
const DOLLAR: Hex = `0x${'d0'.repeat(20)}`

type Found = { about: string; kind: BreakKind }

/**
 * Our own records of good settlements, and what only they can show: payments of our signer that
 * nobody recorded, and a supply that is not what the ledger owes. Of the latter there is one at a
 * time on a chain, so it is made and mended as often as is asked for, and looked at in between.
 */
export async function scoreOwnRecords(size: { good: number; ofEach: number }): Promise<Scored> {
  const started = await startSettledChain()
  try {
    const filling = { count: size.good, perBlock: PER_BLOCK, onFilled: () => undefined }
    const world = await fillSettlements(started, filling)
    const { db } = await freshDatabase()
    await recordSettlements(db, world)
    const chain = createWorld(world.chain.url)
    const outgoing = await payAside(world, { chain, count: size.ofEach, nonce: size.good })
    await confirm(world, CONFIRMATIONS)
    const totals = await reconcileOwn(db, world)
    const found = (await allBreaks(db, 'open')).map(({ kind, hash }): Found => ({
      kind,
      about: hash ?? '',
    }))
    const expected = new Map<string, BreakKind>(outgoing.map((hash) => [hash, 'unknown_outgoing']))
    const drifts = await drift(db, { chain, rounds: size.ofEach })
    for (const about of drifts.made) expected.set(about, 'supply_drift')
    const scores = scoreOf(expected, [...found, ...drifts.found])
    return { good: size.good, matched: Number(totals['matched']), scores }
  } finally {
    await started.chain.stop()
  }
}

async function reconcileOwn(db: Db, world: SettledChain) {
  const clock = systemClock
  const urls = [world.chain.url]
  const contracts = { settlement: world.settlement, tokens: new Map() }
  const providers = createProviders({ urls, chainId: CHAIN_ID, clock, random: Math.random }).all
  const nodes = providers.map((provider) =>
    createNode({ provider, confirmations: CONFIRMATIONS, clock }),
  )
  const examiner = createExaminer({ chainId: CHAIN_ID, nodes, contracts, clock })
  const own = { settlement: world.settlement, chunkRecords: CHUNK, nodes, providers, examiner }
  const { state, error, totals } = await runOnce(runsDeps({ db, urls, ...own }))
  if (state !== 'completed') throw new Error(error)
  return totals
}

/** In turn a plain transfer and a settlement under a reference that no order has. */
async function payAside(
  { settlement, payer: from, payee }: SettledChain,
  { chain, count, nonce }: { chain: World; count: number; nonce: number },
): Promise<Hex[]> {
  const hashes: Hex[] = []
  for (let at = 0; at < count; at += 1) {
    const data = calls.settle(`0x${(at + 1).toString(16).padStart(64, '9')}`, payee)
    const call = at % 2 === 0 ? { to: payee } : { to: settlement, data }
    const place = { nonce: `0x${(nonce + at).toString(16)}`, gas: '0x186a0' }
    const sent = [{ from, value: '0x3', ...place, ...call }]
    hashes.push((await chain.rpc('eth_sendTransaction', sent)) as Hex)
    if (at % PER_BLOCK === PER_BLOCK - 1) await chain.mine(1)
  }
  await chain.mine(1)
  return hashes
}

/** A look after each time that the books go astray, and one after each time they are mended. */
async function drift(
  db: Db,
  { chain, rounds }: { chain: World; rounds: number },
): Promise<{ made: string[]; found: Found[] }> {
  await chain.rpc('anvil_setCode', [DOLLAR, referenceDollar(DOLLAR).runtime.code])
  await chain.mine(CONFIRMATIONS)
  const stablecoin = { token: DOLLAR, chainId: CHAIN_ID, profile: 'memo' as const }
  const ledger = ledgerOf({ stablecoin, clock: systemClock })
  const watch = watchOf({ db, clock: systemClock, world: chain }, { ledger, stablecoin })
  const look = async (about: string): Promise<Found[]> => {
    await readFinal(chain, watch)
    const open = await allBreaks(db, 'open')
    return open.filter(({ source }) => source === 'supply').map(({ kind }) => ({ kind, about }))
  }
  const found = await look('before the first drift')
  const made: string[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const posting = { kind: 'deposit', currency: 'USD', amount: BigInt(round) } as const
    const [bank, owed] = [{ system: 'bank' }, { stablecoinOn: CHAIN_ID }] as const
    await post(db, { ...posting, subject: `astray ${round}`, from: bank, to: owed })
    made.push(`drift ${round}`)
    found.push(...(await look(`drift ${round}`)))
    await post(db, { ...posting, subject: `mended ${round}`, from: owed, to: bank })
    found.push(...(await look(`mended ${round}`)))
  }
  return { made, found }
}

async function readFinal(chain: World, watch: SupplyWatch): Promise<void> {
  await chain.mine(1)
  while (await watch.pass(new AbortController().signal)) continue
}
