import { randomUUID } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'

import type { SupplyEvent } from '../../src/chain/read/supply.ts'
import type { Hex, Order, OrderState } from '../../src/domain/orders.ts'
import { createPayment } from '../../src/ledger/bank-payments.ts'
import { createMint, moveByMint } from '../../src/ledger/mints.ts'
import { createRedeem } from '../../src/ledger/redeems.ts'
import { settleSupplyEvent } from '../../src/ledger/supply.ts'
import { transferBetween } from '../../src/ledger/wallet-transfers.ts'
import { moveByWire } from '../../src/ledger/wires.ts'
import type { Db } from '../../src/store/database/database.ts'
import { storeSolvency } from '../../src/store/ledger/supply.ts'
import type { WirePurpose } from '../../src/store/rails/wires.ts'
import { makeUser } from '../fixtures/api/access.ts'
import {
  deposit,
  DOLLAR,
  ledgerOf,
  makeWallets,
  referenceOf,
  TOKEN,
} from '../fixtures/books/money.ts'
import { failureOf } from '../fixtures/errors.ts'

export const ACTS = [
  'transfer',
  'pay',
  'mint',
  'redeem',
  'wire',
  'order',
  'burn',
  'deposit',
] as const

/** What may happen next. `pick` chooses among the things that there are. */
export type Step = {
  act: (typeof ACTS)[number]
  amount: bigint
  /** Whose money it is, of two users. */
  whose: 0 | 1
  pick: number
  way: 'well' | 'badly' | 'first'
}

/** Everything that the ledger holds, in millionths, with the wallets of each user. */
export type Books = {
  wallets: { main: bigint; second: bigint; held: bigint }[]
  stablecoin: bigint
  unclaimed: bigint
}

/** The real ledger and a simple model of it, which take the same steps. */
export type Play = {
  take: (step: Step) => Promise<void>
  read: () => Promise<Books>
  expected: () => Books
  /** By the statement that the product compares supply and liability with. */
  drift: () => Promise<bigint>
  /** How often each thing came to be, such as `payments returned`. */
  counts: () => Readonly<Record<string, number>>
}

export async function createPlay(db: Db): Promise<Play> {
  const owners = [await makeOwner(db, 100n * DOLLAR), await makeOwner(db, 100n * DOLLAR)]
  const model: Model = {
    wallets: owners.map(() => ({ main: 100n * DOLLAR, second: 0n, held: 0n })),
    stablecoin: 0n,
    unclaimed: 0n,
    supply: 0n,
    wires: new Map(),
    mints: new Map(),
    redeems: new Map(),
  }
  const counts: Record<string, number> = {}
  const count = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1)
  const stage = { db, ledger: ledgerOf(), model, owners, count }
  const key = { chainId: CHAIN_ID, token: TOKEN }
  return {
    take: (step) => TAKEN[step.act](stage, step),
    read: () => readBooks(db, owners),
    expected: () => ({
      wallets: model.wallets.map((wallet) => ({ ...wallet })),
      stablecoin: model.stablecoin,
      unclaimed: model.unclaimed,
    }),
    async drift() {
      const seen = { blockNumber: 7n, supply: model.supply, now: new Date(0) }
      return (await storeSolvency(db, key, seen))!.drift
    },
    counts: () => counts,
  }
}

/** The whole ledger, as simple as it can be said. */
type Model = Books & {
  /** What the chain has: it is owed by the ledger, to the last millionth. */
  supply: bigint
  wires: Map<string, Wired>
  mints: Map<string, { whose: 0 | 1; amount: bigint; isOpen: boolean }>
  redeems: Map<string, { whose: 0 | 1; id: string; amount: bigint; isOpen: boolean }>
}

type Wired = {
  whose: 0 | 1
  purpose: WirePurpose
  amount: bigint
  state: 'open' | 'paid' | 'over'
}

type Owner = { userId: number; main: bigint; second: bigint }

type Stage = {
  db: Db
  ledger: ReturnType<typeof ledgerOf>
  model: Model
  owners: Owner[]
  count: (name: string) => void
}

const CHAIN_ID = 31_337
const USD = 'USD' as const

async function makeOwner(db: Db, amount: bigint): Promise<Owner> {
  const { id: userId } = await makeUser(db)
  return { userId, ...(await makeWallets(db, userId, amount)) }
}

async function readBooks(db: Db, owners: readonly Owner[]): Promise<Books> {
  const { rows } = await sql<{ kind: string; wallet: bigint | null; balance: string }>`
    select kind, wallet_id as wallet, balance::text from accounts`.execute(db)
  const at = (kind: string, wallet: bigint | null): bigint =>
    BigInt(rows.find((row) => row.kind === kind && row.wallet === wallet)?.balance ?? 0)
  return {
    wallets: owners.map(({ main, second }) => ({
      main: at('wallet', main),
      second: at('wallet', second),
      held: at('held', main),
    })),
    stablecoin: at('stablecoin', null),
    unclaimed: at('unclaimed', null),
  }
}

/** Tries it in a transaction, and expects a refusal exactly where the model lacks the money. */
async function tryIt<T>(
  { db, count }: Stage,
  affordable: boolean,
  work: (open: Db) => Promise<T>,
): Promise<T | undefined> {
  const run = () => db.transaction().execute(work)
  if (affordable) return run()
  expect((await failureOf(run)).code).to.equal('insufficient_funds')
  count('refused for want of money')
  return undefined
}

const TAKEN: Readonly<Record<Step['act'], (stage: Stage, step: Step) => Promise<void>>> = {
  async deposit({ db, model, owners, count }, { amount, whose }) {
    await deposit(db, owners[whose]!.main, amount)
    model.wallets[whose]!.main += amount
    count('deposits')
  },
  async transfer(stage, { amount, whose, way }) {
    const { ledger, model, owners, count } = stage
    const { userId, main, second } = owners[whose]!
    const wallet = model.wallets[whose]!
    const isForth = way !== 'badly'
    const [walletId, toWalletId] = isForth ? [main, second] : [second, main]
    const request = { kind: 'wallet', userId, walletId, toWalletId, amount, currency: USD } as const
    const isAffordable = (isForth ? wallet.main : wallet.second) >= amount
    const made = await tryIt(stage, isAffordable, (open) => transferBetween(ledger, open, request))
    if (made === undefined) return
    wallet.main += isForth ? -amount : amount
    wallet.second += isForth ? amount : -amount
    count('transfers')
  },
  async pay(stage, { amount, whose }) {
    const { ledger, model, owners, count } = stage
    const { userId, main: walletId } = owners[whose]!
    const wallet = model.wallets[whose]!
    const destination = { name: 'Ada', addressLine1: '12 St James Square' }
    const request = { userId, walletId, amount, currency: USD, destination }
    const made = await tryIt(stage, wallet.main >= amount, (open) =>
      createPayment(ledger, open, { ...request, beneficiaryEmail: undefined }),
    )
    if (made === undefined) return
    wallet.main -= amount
    wallet.held += amount
    remember(model.wires, made.id, { whose, purpose: 'payment', amount, state: 'open' })
    count('payments')
  },
  async mint(stage, { amount, whose }) {
    const { ledger, model, owners, count } = stage
    const { userId, main: walletId } = owners[whose]!
    const wallet = model.wallets[whose]!
    const id = randomUUID()
    const request = { kind: 'mint', id, userId, walletId, amount, currency: USD } as const
    const reference = referenceOf(id)
    const place = { chain: 'ETH', chainId: CHAIN_ID, address: HOLDER, addressId: undefined }
    const chain = { ...place, reference, transactionHash: HASH }
    const made = await tryIt(stage, wallet.main >= amount, (open) =>
      createMint(ledger, open, { ...request, ...chain }),
    )
    if (made === undefined) return
    wallet.main -= amount
    wallet.held += amount
    remember(model.mints, id, { whose, amount, isOpen: true })
    count('mints')
  },
  async redeem({ db, ledger, model, owners, count }, { amount, whose }) {
    const { userId, main: walletId } = owners[whose]!
    const request = { kind: 'redeem', userId, walletId, amount, currency: USD } as const
    const chain = { chain: 'ETH', chainId: CHAIN_ID, address: undefined, destination: {} }
    const { id, reference } = await db
      .transaction()
      .execute((open) => createRedeem(ledger, open, { ...request, ...chain }))
    remember(model.redeems, reference, { whose, id, amount, isOpen: true })
    count('redeems')
  },
  async wire({ db, ledger, model, count }, { pick, way }) {
    const [subject, wire] = pickOf(model.wires, pick)
    if (subject === undefined || wire === undefined) return
    const state = ({ well: 'paid', badly: 'returned', first: 'accepted' } as const)[way]
    const move = { subject, state, purpose: wire.purpose, reference: 'FED', code: undefined }
    await db.transaction().execute((open) => moveByWire(ledger, open, move))
    const wallet = model.wallets[wire.whose]!
    if (state === 'accepted' || wire.state === 'over') return
    if (state === 'paid' && wire.state === 'open') {
      wallet.held -= wire.amount
      wire.state = 'paid'
      count('wires paid')
    } else if (state === 'returned') {
      count(wire.state === 'open' ? 'wires returned' : 'wires returned after they were paid')
      if (wire.state === 'open') wallet.held -= wire.amount
      wallet.main += wire.amount
      wire.state = 'over'
    }
  },
  async order({ db, ledger, model, count }, { pick, way }) {
    const [id, mint] = pickOf(model.mints, pick)
    if (id === undefined || mint === undefined) return
    const state = ({ well: 'completed', badly: 'failed', first: 'mined' } as const)[way]
    await db.transaction().execute((open) => moveByMint(ledger, open, orderMove(id, state)))
    if (!mint.isOpen || state === 'mined') return
    const wallet = model.wallets[mint.whose]!
    mint.isOpen = false
    wallet.held -= mint.amount
    count(`mints ${state}`)
    if (state === 'failed') {
      wallet.main += mint.amount
      return
    }
    model.stablecoin += mint.amount
    model.supply += mint.amount
  },
  async burn({ db, ledger, model, count }, { pick, way, amount }) {
    const [reference, redeem] = pickOf(model.redeems, pick)
    if (reference === undefined || redeem === undefined) return
    const isExact = way !== 'badly'
    const burnt = isExact ? redeem.amount : amount
    const event = burnOf({ memo: reference as Hex, amount: burnt, holder: nextHolder() })
    const block = { number: event.blockNumber, hash: event.blockHash, time: new Date(0) }
    const stablecoin = { token: TOKEN, chainId: CHAIN_ID }
    // A burn of more than there is happens on no chain, so the ledger takes it for a lie.
    const isBacked = model.supply >= burnt
    await settleSupplyEvent(db, { context: ledger, stablecoin, event, block })
    if (!isBacked) return count('burns beyond the supply')
    model.supply -= burnt
    model.stablecoin -= burnt
    if (redeem.isOpen && burnt === redeem.amount) {
      const { whose, id } = redeem
      redeem.isOpen = false
      model.wallets[whose]!.held += burnt
      remember(model.wires, id, { whose, purpose: 'redeem', amount: burnt, state: 'open' })
      count('burns as ordered')
    } else {
      model.unclaimed += burnt
      count('burns that nobody ordered like this')
    }
  },
}

/** What is older stays as it is: the model has room for so much that can still move. */
const MAX_REMEMBERED = 24

function remember<T>(things: Map<string, T>, id: string, thing: T): void {
  const [oldest] = things.keys()
  if (things.size >= MAX_REMEMBERED && oldest !== undefined) things.delete(oldest)
  things.set(id, thing)
}

function pickOf<T>(things: ReadonlyMap<string, T>, pick: number): [string, T] | [] {
  return [...things][pick % Math.max(things.size, 1)] ?? []
}

const HOLDER: Hex = `0x${'aa'.repeat(20)}`
const HASH: Hex = `0x${'ab'.repeat(32)}`

let holders = 0

/** A memo is once-only for a holder, so each burn is another one's. */
function nextHolder(): Hex {
  return `0x${(holders += 1).toString(16).padStart(40, '0')}`
}

function burnOf(burn: Pick<SupplyEvent, 'memo' | 'amount' | 'holder'>): SupplyEvent {
  const place = { transactionHash: HASH, blockNumber: 7n, blockHash: HASH }
  return { kind: 'burn', token: TOKEN, ...burn, ...place }
}

/** What the sender says of an order; of its fields only these matter here. */
function orderMove(subject: string, state: OrderState) {
  const errorCode = state === 'failed' ? 'reverted' : undefined
  return {
    order: { id: 0n, subject, state, errorCode } as Order,
    from: 'accepted',
    hash: HASH,
  } as const
}
