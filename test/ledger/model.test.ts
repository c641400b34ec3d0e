import { randomUUID } from 'node:crypto'

import { expect } from 'chai'
import * as fc from 'fast-check'

import type { SupplyEvent } from '../../src/chain/supply.ts'
import type { Hex, Order, OrderState } from '../../src/domain/orders.ts'
import type { LedgerContext } from '../../src/ledger/context.ts'
import { createMint, moveByMint } from '../../src/ledger/mints.ts'
import { createPayment } from '../../src/ledger/payments.ts'
import { createRedeem } from '../../src/ledger/redeems.ts'
import { settleSupplyEvent } from '../../src/ledger/supply.ts'
import { transferBetween } from '../../src/ledger/wallet-transfers.ts'
import { moveByWire } from '../../src/ledger/wires.ts'
import type { Db } from '../../src/store/database.ts'
import { readBalance } from '../../src/store/ledger.ts'
import type { WirePurpose } from '../../src/store/wires.ts'
import { makeUser } from '../support/access.ts'
import { freshDatabase } from '../support/database.ts'
import { failureOf } from '../support/errors.ts'
import { DOLLAR, ledgerOf, makeWallets, readLedger, TOKEN } from '../support/money.ts'

/** What may happen next. `pick` chooses among the things that there are. */
type Step = {
  act: 'transfer' | 'pay' | 'mint' | 'redeem' | 'wire' | 'order' | 'burn'
  amount: bigint
  pick: number
  way: 'well' | 'badly' | 'first'
}

const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom('transfer', 'pay', 'mint', 'redeem', 'wire', 'order', 'burn'),
    amount: fc.bigInt({ min: 1n, max: 4_000n }).map((cents) => cents * 10_000n),
    pick: fc.nat({ max: 7 }),
    way: fc.constantFrom('well', 'badly', 'first'),
  }),
  { minLength: 10, maxLength: 40 },
)

/** The whole ledger, as simple as it can be said. */
type Model = {
  main: bigint
  second: bigint
  held: bigint
  stablecoin: bigint
  unclaimed: bigint
  wires: Map<string, { purpose: WirePurpose; amount: bigint; state: 'open' | 'paid' | 'over' }>
  mints: Map<string, { amount: bigint; isOpen: boolean }>
  redeems: Map<string, { id: string; amount: bigint; isOpen: boolean }>
}

describe('the ledger beside a simple model', () => {
  it('has what the model has after every step, whatever happens in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { db } = await freshDatabase()
        const { id: userId } = await makeUser(db)
        const wallets = await makeWallets(db, userId)
        const play = createPlay(db, { userId, ...wallets })
        for (const step of all) {
          await play.take(step)
          expect(await play.read()).to.deep.equal(play.expected())
        }
        expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
      }),
      { numRuns: 12, seed: 20_26, endOnFailure: true },
    )
  })
})

type Parts = { userId: number; main: bigint; second: bigint }

function createPlay(db: Db, { userId, main, second }: Parts) {
  const ledger = ledgerOf()
  const model: Model = {
    main: 100n * DOLLAR,
    second: 0n,
    held: 0n,
    stablecoin: 0n,
    unclaimed: 0n,
    wires: new Map(),
    mints: new Map(),
    redeems: new Map(),
  }
  const play = { db, ledger, model, userId, main, second }
  return {
    take: (step: Step) => ACTS[step.act](play, step),
    expected: () => ({
      main: model.main,
      second: model.second,
      held: model.held,
      stablecoin: model.stablecoin,
      unclaimed: model.unclaimed,
    }),
    read: async () => ({
      main: await readBalance(db, { wallet: main }),
      second: await readBalance(db, { wallet: second }),
      held: await readBalance(db, { heldOf: main }),
      stablecoin: await readBalance(db, { system: 'stablecoin' }),
      unclaimed: await readBalance(db, { system: 'unclaimed' }),
    }),
  }
}

type Play = { db: Db; ledger: LedgerContext; model: Model; userId: number } & Parts

const USD = 'USD' as const

/** Tries it in a transaction, and expects a refusal exactly where the model lacks the money. */
async function tryIt<T>(
  { db }: Play,
  affordable: boolean,
  work: (open: Db) => Promise<T>,
): Promise<T | undefined> {
  const run = () => db.transaction().execute(work)
  if (affordable) return run()
  expect((await failureOf(run)).code).to.equal('insufficient_funds')
  return undefined
}

const ACTS: Readonly<Record<Step['act'], (play: Play, step: Step) => Promise<void>>> = {
  async transfer(play, { amount, way }) {
    const { ledger, model, userId, main, second } = play
    const isForth = way !== 'badly'
    const [walletId, toWalletId] = isForth ? [main, second] : [second, main]
    const request = { kind: 'wallet', userId, walletId, toWalletId, amount, currency: USD } as const
    const isAffordable = (isForth ? model.main : model.second) >= amount
    const made = await tryIt(play, isAffordable, (open) => transferBetween(ledger, open, request))
    if (made === undefined) return
    model.main += isForth ? -amount : amount
    model.second += isForth ? amount : -amount
  },
  async pay(play, { amount }) {
    const { model, userId, main: walletId } = play
    const destination = { name: 'Ada', addressLine1: '12 St James Square' }
    const request = { userId, walletId, amount, currency: USD, destination }
    const made = await tryIt(play, model.main >= amount, (open) =>
      createPayment(open, { ...request, beneficiaryEmail: undefined }),
    )
    if (made === undefined) return
    model.main -= amount
    model.held += amount
    model.wires.set(made.id, { purpose: 'payment', amount, state: 'open' })
  },
  async mint(play, { amount }) {
    const { ledger, model, userId, main: walletId } = play
    const id = randomUUID()
    const request = { kind: 'mint', id, userId, walletId, amount, currency: USD } as const
    const chain = { chain: 'ETH', address: HOLDER, addressId: undefined, transactionHash: HASH }
    const made = await tryIt(play, model.main >= amount, (open) =>
      createMint(ledger, open, { ...request, ...chain }),
    )
    if (made === undefined) return
    model.main -= amount
    model.held += amount
    model.mints.set(id, { amount, isOpen: true })
  },
  async redeem({ db, ledger, model, userId, main: walletId }, { amount }) {
    const request = { kind: 'redeem', userId, walletId, amount, currency: USD } as const
    const chain = { chain: 'ETH', address: undefined, destination: {} }
    const { id, reference } = await db
      .transaction()
      .execute((open) => createRedeem(ledger, open, { ...request, ...chain }))
    model.redeems.set(reference, { id, amount, isOpen: true })
  },
  async wire({ db, ledger, model }, { pick, way }) {
    const [subject, wire] = [...model.wires][pick] ?? []
    if (subject === undefined || wire === undefined) return
    const state = ({ well: 'paid', badly: 'returned', first: 'accepted' } as const)[way]
    const move = { subject, state, purpose: wire.purpose, reference: 'FED', code: undefined }
    await db.transaction().execute((open) => moveByWire(ledger, open, move))
    if (state === 'accepted' || wire.state === 'over') return
    if (state === 'paid' && wire.state === 'open') {
      model.held -= wire.amount
      wire.state = 'paid'
    } else if (state === 'returned') {
      if (wire.state === 'open') model.held -= wire.amount
      model.main += wire.amount
      wire.state = 'over'
    }
  },
  async order({ db, ledger, model }, { pick, way }) {
    const [id, mint] = [...model.mints][pick] ?? []
    if (id === undefined || mint === undefined) return
    const state = ({ well: 'completed', badly: 'failed', first: 'mined' } as const)[way]
    await db.transaction().execute((open) => moveByMint(ledger, open, orderMove(id, state)))
    if (!mint.isOpen || state === 'mined') return
    mint.isOpen = false
    model.held -= mint.amount
    if (state === 'completed') model.stablecoin += mint.amount
    else model.main += mint.amount
  },
  async burn({ db, ledger, model }, { pick, way, amount }) {
    const [reference, redeem] = [...model.redeems][pick] ?? []
    if (reference === undefined || redeem === undefined) return
    const isExact = way !== 'badly'
    const burnt = isExact ? redeem.amount : amount
    const event = burnOf({ memo: reference as Hex, amount: burnt, holder: nextHolder() })
    const block = { number: event.blockNumber, hash: event.blockHash, time: new Date(0) }
    const stablecoin = { token: TOKEN, chainId: 31337 }
    const isBacked = model.stablecoin >= burnt
    await settleSupplyEvent(db, { context: ledger, stablecoin, event, block })
    if (isBacked) model.stablecoin -= burnt
    if (redeem.isOpen && burnt === redeem.amount && isBacked) {
      redeem.isOpen = false
      model.held += burnt
      model.wires.set(redeem.id, { purpose: 'redeem', amount: burnt, state: 'open' })
    } else if (isBacked) {
      model.unclaimed += burnt
    }
  },
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
