import { expect } from 'chai'
import type { Hex } from 'viem'

import { callRpc } from '../../src/chain/rpc/rpc.ts'
import type { BreakKind } from '../../src/domain/breaks.ts'
import {
  readRecord,
  type PaymentRecord,
  type RecordSource,
} from '../../src/reconciler/sources/records.ts'
import {
  csvFile,
  placeOf,
  reconcileFile,
  reconcileSource,
  removeFiles,
  type Row,
} from '../fixtures/books/reconcile.ts'
import {
  calls,
  reference,
  startPaidChain,
  takeNonce,
  type PaidChain,
  type Taken,
} from '../fixtures/books/verify.ts'
import { startChain } from '../fixtures/chain/anvil.ts'
import { account } from '../fixtures/chain/deployment.ts'
import { startFaultyProxy } from '../fixtures/chain/faulty-proxy.ts'
import { createJumpingClock } from '../fixtures/clock.ts'
import { createKeyedDraw } from '../fixtures/random.ts'

const GHOST: Hex = `0x${'ee'.repeat(32)}`
const OTHER_CONTRACT: Hex = `0x${'c0'.repeat(20)}`
const ETHER = 10n ** 18n

describe('reconciling a file', () => {
  let world: PaidChain
  let direct: Hex
  let batch: Hex
  let twice: Hex
  let reverted: Hex
  let elsewhere: Hex
  let minted: Hex
  let taken: Taken

  before(async () => {
    world = await startPaidChain()
    const { settlement, payee } = world
    direct = await world.send({ to: payee, value: ETHER })
    const references = [reference(1), reference(2)]
    const data = calls.settleBatch(references, [payee, payee], [5n, 5n])
    batch = await world.send({ to: settlement, data, value: 10n })
    const again = calls.settle(reference(1), payee)
    twice = await world.send({ from: account(6).address, to: settlement, data: again, value: 5n })
    reverted = await world.send({ to: settlement, data: again, value: 5n })
    const client = world.chain.client
    const bytecode = (await client.getCode({ address: settlement })) ?? '0x'
    await client.setCode({ address: OTHER_CONTRACT, bytecode })
    const settle = calls.settle(reference(9), payee)
    elsewhere = await world.send({ to: OTHER_CONTRACT, data: settle, value: 9n })
    const memo = reference(20)
    const mint = calls.dollar('mintWithMemo', { to: payee, amount: 12_500_000n, memo })
    minted = await world.send({ to: world.dollar, data: mint })
    taken = await takeNonce(world)
    await world.mine(5)
  })
  after(async () => {
    await world.chain.stop()
    removeFiles()
  })

  const good = (): Row[] => [
    paid('TX1', direct, { to_address: world.payee, amount: '1', currency: 'ETH' }),
    paid('TX2', batch, { to_address: world.payee, amount: wei(5n), reference: reference(1) }),
    paid('TX3', batch, { to_address: world.payee, amount: wei(5n), reference: reference(2) }),
    paid('TX4', minted, { to_address: world.payee, amount: '12.50', currency: 'USD' }),
    { transaction_id: 'TX5', eth_transaction_hash: reverted, status: 'failed' },
    { transaction_id: 'TX6', eth_transaction_hash: GHOST, status: 'failed' },
  ]

  it('matches what the chain shows, through every way of paying', async () => {
    const { totals, kinds } = await reconcileFile(csvFile(good()), placeOf(world))
    expect(kinds).to.deep.equal([])
    expect(totals).to.include({ records: 6, matched: 6, pending: 0, breaks: 0, unreadable: 0 })
  })

  it('is content with a hash, and with a batch that is claimed as often as it pays', async () => {
    const rows = [direct, batch, batch].map((hash, at) => only(`TX${at}`, hash))
    const { totals } = await reconcileFile(csvFile(rows), placeOf(world))
    expect(totals).to.include({ records: 3, matched: 3, breaks: 0 })
  })

  const injected: readonly [BreakKind, () => Row][] = [
    ['missing', () => paid('TXa', GHOST, {})],
    ['missing', () => only('TXa', GHOST)],
    ['dropped', () => ({ ...paid('TXa', GHOST, { created_at: '2020-01-01' }), status: 'pending' })],
    ['reverted', () => paid('TXa', reverted, {})],
    ['reverted', () => ({ ...paid('TXa', reverted, {}), status: 'processing' })],
    [
      'wrong_amount',
      () => paid('TXa', direct, { to_address: world.payee, amount: wei(ETHER + 1n) }),
    ],
    ['wrong_amount', () => paid('TXa', batch, { reference: reference(2), amount: wei(4n) })],
    ['wrong_amount', () => paid('TXa', minted, { amount: '12.51', currency: 'USD' })],
    ['wrong_recipient', () => paid('TXa', direct, { to_address: world.payer, amount: '1' })],
    [
      'wrong_recipient',
      () => paid('TXa', batch, { to_address: world.payer, reference: reference(1) }),
    ],
    [
      'wrong_contract',
      () => paid('TXa', elsewhere, { to_address: world.payee, reference: reference(9) }),
    ],
    ['wrong_contract', () => paid('TXa', minted, { amount: wei(12_500_000n) })],
    ['wrong_reference', () => paid('TXa', batch, { reference: reference(77), amount: wei(5n) })],
    ['wrong_reference', () => paid('TXa', direct, { reference: reference(77) })],
    ['reorged', () => paid('TXa', direct, { block_hash: GHOST })],
    ['fee_mismatch', () => paid('TXa', direct, { gas_used: 21_000, gas_price: 1 })],
    ['state_lag', () => ({ ...only('TXa', direct), status: 'pending' })],
    ['state_lag', () => ({ ...only('TXa', direct), status: 'failed' })],
    ['replaced_unknown', () => paid('TXa', taken.ghost, { from_address: taken.from, nonce: 0 })],
  ]
  for (const [at, [kind, row]] of injected.entries()) {
    it(`finds ${kind} among good records (${at})`, async () => {
      const rows = good()
      rows.splice(3, 0, row())
      const { totals, kinds, findings } = await reconcileFile(csvFile(rows), placeOf(world))
      expect(kinds).to.deep.equal([`TXa ${kind}`])
      expect(totals).to.include({ records: 7, matched: 6, breaks: 1 })
      expect(findings[0]?.evidence).to.include({ line: '5' })
    })
  }

  it('tells a replacement that is recorded from one that is not', async () => {
    const rows = [
      paid('TXa', taken.ghost, { from_address: taken.from, nonce: 0 }),
      paid('TXb', taken.by, {}),
    ]
    const { kinds, findings } = await reconcileFile(csvFile(rows), placeOf(world))
    expect(kinds).to.deep.equal(['TXa replaced_by_ours'])
    expect(findings[0]?.onChain).to.include({ eth_transaction_hash: taken.by })
  })

  const doubled: readonly [string, () => Row[]][] = [
    ['one payment under two ids', () => [paid('TXa', direct, {}), paid('TXb', direct, {})]],
    ['one id paid twice', () => [paid('TXb', direct, {}), paid('TXb', minted, {})]],
    [
      'one settlement under two ids',
      () => [
        paid('TXa', batch, { reference: reference(1) }),
        paid('TXb', batch, { reference: reference(1) }),
      ],
    ],
    [
      'one reference under two ids, which two payers have paid',
      () => [
        paid('TXa', batch, { reference: reference(1) }),
        paid('TXb', twice, { reference: reference(1) }),
      ],
    ],
    ['a batch that is claimed too often', () => ['TXa', 'TXc', 'TXb'].map((id) => only(id, batch))],
  ]
  for (const [name, rows] of doubled) {
    it(`finds ${name}`, async () => {
      const { kinds } = await reconcileFile(csvFile(rows()), placeOf(world))
      expect(kinds).to.deep.equal(['TXb duplicate_payment'])
    })
  }

  it('finds what is doubled across chunks, and reads a repeated row once', async () => {
    const rows = [paid('TXa', direct, {}), paid('TXa', direct, {}), paid('TXb', direct, {})]
    const { totals, kinds } = await reconcileFile(csvFile(rows), placeOf(world), {
      chunkRecords: 1,
    })
    expect(kinds).to.deep.equal(['TXb duplicate_payment'])
    expect(totals).to.include({ records: 2, matched: 1, repeated: 1 })
  })

  it('names a break alike in every run, and another disagreement otherwise', async () => {
    const idOf = async (row: Row) =>
      (await reconcileFile(csvFile([row]), placeOf(world))).findings[0]?.id
    const first = await idOf(paid('TXa', GHOST, {}))
    expect(first).to.match(/^BRK[0-9a-f]{24}$/)
    expect(await idOf({ ...only('TXa', GHOST), created_at: '2020-01-01' })).to.equal(first)
    expect(await idOf(paid('TXb', GHOST, {}))).not.to.equal(first)
  })

  it('leaves what is not final, waiting or young to time', async () => {
    const now = new Date().toISOString()
    const young = { ...only('TXc', GHOST), status: 'pending', created_at: now }
    const rows = [only('TXa', direct), { ...only('TXb', reverted), status: 'pending' }, young]
    const { totals } = await reconcileFile(csvFile(rows), placeOf(world), { confirmations: 900 })
    expect(totals).to.include({ pending: 3, breaks: 0 })
    expect(totals.byCause).to.deep.equal({ not_final: 2, young: 1 })
  })

  it('waits for nodes that have not come to the time of a record', async () => {
    const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString()
    const row = paid('TXa', GHOST, { created_at: tomorrow })
    const { totals } = await reconcileFile(csvFile([row]), placeOf(world))
    expect(totals).to.include({ pending: 1, breaks: 0 })
    expect(totals.byCause).to.deep.equal({ provider_lags: 1 })
  })

  it('takes a checkout that was paid in parts, or overpaid, for no wrong amount', async () => {
    const due = (id: string, hash: Hex, money: { amount: string; currency: string }) => {
      const fields = { transaction_id: id, eth_transaction_hash: hash, ...money }
      const record = readRecord(fields, undefined)
      if (typeof record === 'string' || !record.amount) throw new Error('no record of money')
      return { ...record, amount: { ...record.amount, isDue: true } as const }
    }
    const dollars = (amount: string) => ({ amount, currency: 'USD' })
    const records = [
      due('TXa', minted, dollars('12.5')),
      due('TXb', minted, dollars('100')),
      due('TXc', minted, dollars('1')),
      due('TXd', direct, { amount: '900', currency: 'ETH' }),
      due('TXe', reverted, { amount: '900', currency: 'ETH' }),
    ]
    const { kinds, totals, uncompared } = await reconcileSource(sourceOf(records), placeOf(world))
    expect(kinds).to.deep.equal(['TXe reverted'])
    expect(totals).to.include({ matched: 1, notCompared: 3 })
    expect(uncompared.map(({ reason }) => reason)).to.deep.equal(Array(3).fill('paid_in_parts'))
  })

  it('holds a price in dollars against dollars, not against the ether that paid it', async () => {
    const priced = (id: string, hash: Hex, amount: string): PaymentRecord => {
      const fields = { transaction_id: id, eth_transaction_hash: hash, amount, currency: 'USD' }
      const record = readRecord(fields, undefined)
      if (typeof record === 'string' || !record.amount) throw new Error('no record of dollars')
      return { ...record, amount: { ...record.amount, isPrice: true } }
    }
    const records = [
      priced('TXa', minted, '12.5'),
      priced('TXb', minted, '12.51'),
      priced('TXc', direct, '2500'),
    ]
    const { kinds, totals, uncompared } = await reconcileSource(sourceOf(records), placeOf(world))
    expect(kinds).to.deep.equal(['TXb wrong_amount'])
    expect(totals).to.include({ matched: 1, notCompared: 1 })
    expect(uncompared[0]).to.include({ transactionId: 'TXc', reason: 'price_only' })
  })

  it('keeps to the times that are asked for', async () => {
    const rows = [
      { ...only('TXa', GHOST), created_at: '2025-01-01' },
      { ...only('TXb', GHOST), created_at: '2025-01-02' },
      { ...only('TXc', GHOST), created_at: '2025-01-03' },
    ]
    const { kinds } = await reconcileFile(csvFile(rows), placeOf(world), {
      since: new Date('2025-01-02'),
      until: new Date('2025-01-03'),
    })
    expect(kinds).to.deep.equal(['TXb missing'])
  })

  describe('against a second node', () => {
    const beside = async (plan: Parameters<typeof startFaultyProxy>[0]['plan'], rows: Row[]) => {
      const target = world.chain.url
      const proxy = await startFaultyProxy({ target, random: createKeyedDraw(1), plan: plan ?? {} })
      const place = { ...placeOf(world), urls: [target, proxy.url] }
      try {
        return await reconcileFile(csvFile(rows), place)
      } finally {
        await proxy.stop()
      }
    }

    it('holds what both say', async () => {
      const { totals } = await beside({}, good())
      expect(totals).to.include({ matched: 6, breaks: 0 })
    })

    it('concludes nothing where they contradict each other', async () => {
      const plan = { wrong_status: { chance: 1, methods: ['eth_getTransactionReceipt'] } }
      const { kinds, findings } = await beside(plan, [paid('TXa', direct, {})])
      expect(kinds).to.deep.equal(['TXa provider_disagreement'])
      expect(Object.keys(findings[0]?.onChain ?? {})).to.have.length(2)
    })

    it('does not call missing what a node only withholds', async () => {
      const plan = { null: { chance: 1, methods: ['eth_getTransactionReceipt'] } }
      const { kinds } = await beside(plan, [paid('TXa', direct, {})])
      expect(kinds).to.not.include('TXa missing')
    })

    it('believes no node alone of what took a nonce', async () => {
      const row = paid('TXa', taken.ghost, { from_address: taken.from, nonce: 0 })
      expect((await beside({}, [row])).kinds).to.deep.equal(['TXa replaced_unknown'])
      const plan = { method_missing: { chance: 1, methods: ['eth_getTransactionCount'] } }
      expect((await beside(plan, [row])).kinds).to.deep.equal(['TXa missing'])
    })

    it('waits for a node that lags', async () => {
      const { totals } = await beside({ lagBlocks: 12 }, [
        paid('TXa', direct, {}),
        only('TXb', GHOST),
      ])
      expect(totals).to.include({ pending: 2, breaks: 0 })
    })

    it('waits for a node that answers garbage', async () => {
      const methods = ['eth_getTransactionReceipt']
      const plan = { error: { chance: 1, methods } }
      const { totals } = await beside(plan, [paid('TXa', direct, {}), only('TXb', GHOST)])
      expect(totals).to.include({ pending: 2, breaks: 0 })
    })
  })

  it('goes on at a node that limits its calls, and finds all that is there', async () => {
    const target = world.chain.url
    const methods = ['eth_getTransactionReceipt']
    const plan = { limit_exceeded: { chance: 0.2, methods } }
    const proxy = await startFaultyProxy({ target, random: createKeyedDraw(10), plan })
    const place = { ...placeOf(world), urls: [proxy.url] }
    const clock = createJumpingClock()
    const rows = [...good(), ...Array.from({ length: 20 }, (_, at) => only(`TXg${at}`, GHOST))]
    const { totals } = await reconcileFile(csvFile(rows), place, { clock })
    await proxy.stop()
    expect(proxy.count('limit_exceeded')).to.be.above(0)
    expect(clock.slept).not.to.deep.equal([])
    expect(totals).to.include({ matched: 6, breaks: 20, pending: 0 })
  })

  it('calls the hash of another chain missing, and what is no hash unreadable', async () => {
    const other = await startChain()
    const params = [{ from: world.payer, to: world.payee, value: '0x77' }]
    const call = { url: other.url, method: 'eth_sendTransaction', params }
    const elsewhere = (await callRpc(call)) as Hex
    await other.stop()
    const bitcoin = 'ab'.repeat(32)
    const rows = [
      only('TXa', elsewhere),
      only('TXb', bitcoin as Hex),
      only('TXc', '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnb' as Hex),
      only('TXd', direct),
    ]
    const { kinds, totals, unreadable } = await reconcileFile(csvFile(rows), placeOf(world))
    expect(kinds).to.deep.equal(['TXa missing'])
    expect(unreadable.map(({ line }) => line)).to.deep.equal([3, 4])
    expect(totals).to.include({ matched: 1 })
  })

  it('finds a receipt of a block that the node does not have', async () => {
    const target = world.chain.url
    const plan = { wrong_block_hash: { chance: 1, methods: ['eth_getTransactionReceipt'] } }
    const proxy = await startFaultyProxy({ target, random: createKeyedDraw(1), plan })
    const place = { ...placeOf(world), urls: [proxy.url] }
    const { kinds } = await reconcileFile(csvFile([paid('TXa', direct, {})]), place)
    await proxy.stop()
    expect(kinds).to.deep.equal(['TXa stale_receipt'])
  })
}).timeout(60_000)

function only(id: string, hash: Hex): Row {
  return { transaction_id: id, eth_transaction_hash: hash }
}

function paid(id: string, hash: Hex, more: Row): Row {
  return { ...only(id, hash), status: 'completed', ...more }
}

/** Decimal ETH of an amount in wei. */
function wei(amount: bigint): string {
  const digits = String(amount).padStart(19, '0')
  return `${digits.slice(0, -18)}.${digits.slice(-18)}`
}

function sourceOf(records: readonly PaymentRecord[]): RecordSource {
  return {
    name: 'list',
    version: undefined,
    size: undefined,
    positionOf: () => 0,
    async *chunks() {
      yield { records, unreadable: [], repeated: 0, cursor: '' }
    },
  }
}
