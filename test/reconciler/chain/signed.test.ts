import { expect } from 'chai'
import { keccak256, type Hex } from 'viem'

import { parseAmount } from '../../../src/domain/money.ts'
import { checkSigned, fastHashOf } from '../../../src/reconciler/chain/signed.ts'
import type { PaymentRecord } from '../../../src/reconciler/sources/records.ts'
import { readRecord } from '../../../src/reconciler/sources/records.ts'
import { csvFile, reconcileFile, removeFiles, type Row } from '../../fixtures/books/reconcile.ts'
import { calls, CHAIN_ID, reference, startPaidChain } from '../../fixtures/books/verify.ts'
import { account } from '../../fixtures/chain/deployment.ts'
import { startFaultyProxy } from '../../fixtures/chain/faulty-proxy.ts'
import { createKeyedDraw, createRandom } from '../../fixtures/random.ts'

const SETTLEMENT: Hex = `0x${'5e'.repeat(20)}`
const DOLLAR: Hex = `0x${'d0'.repeat(20)}`
const PAYEE: Hex = `0x${'11'.repeat(20)}`
const OTHER: Hex = `0x${'22'.repeat(20)}`
const CONTRACTS = { settlement: SETTLEMENT, tokens: new Map([[DOLLAR, 6]]) }

type Call = { to: Hex; value?: bigint; data?: Hex; nonce?: number }

const sign = ({ to, value = 0n, data = '0x', nonce = 0 }: Call): Promise<Hex> => {
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
  const base = { type: 'eip1559', chainId: CHAIN_ID, nonce, gas: 100_000n, ...fees } as const
  return account(6).signTransaction({ ...base, to, value, data })
}

const rowOf = (raw: Hex, more: Row): Row => ({
  transaction_id: 'TX1',
  eth_transaction_hash: keccak256(raw),
  raw_transaction: raw,
  ...more,
})

function recordOf(row: Row): PaymentRecord {
  const fields = Object.entries(row).map(([name, value]) => [name, String(value)])
  const record = readRecord(Object.fromEntries(fields), 2)
  if (typeof record === 'string') throw new Error(record)
  const { amount } = record
  if (amount === undefined) return record
  const isDollars = amount.currency === 'USD'
  const units = parseAmount({ text: amount.text, decimals: isDollars ? 6 : 18 })
  return { ...record, amount: { ...amount, money: { units, token: isDollars ? DOLLAR : null } } }
}

const kindsOf = (row: Row): string[] =>
  checkSigned(recordOf(row), CONTRACTS).breaks.map(({ kind }) => kind)

describe('the hash made in WebAssembly', () => {
  it('is the one of everybody else, of whatever length, half bytes and all', () => {
    const random = createRandom('hashes')
    for (let digits = 0; digits <= 600; digits += 1) {
      const hex: Hex = `0x${random.bytes(300).toString('hex').slice(0, digits)}`
      expect(fastHashOf(hex), hex).to.equal(keccak256(hex))
    }
  })
})

describe('a signed transaction that a record carries', () => {
  const five = '0.000000000000000005'
  const direct = (more: Row) => ({ to_address: PAYEE, amount: five, ...more })
  const settled = (more: Row) => direct({ reference: reference(1), ...more })
  const dollars = (more: Row) =>
    settled({ amount: '12.5', currency: 'USD', reference: reference(2), ...more })
  const memo = { to: PAYEE, amount: 12_500_000n, memo: reference(2) }
  const ways: Record<string, { call: Call; intent: (more: Row) => Row }> = {
    'a direct payment': { call: { to: PAYEE, value: 5n }, intent: direct },
    'a settlement': {
      call: { to: SETTLEMENT, value: 5n, data: calls.settle(reference(1), PAYEE) },
      intent: settled,
    },
    'a mint': { call: { to: DOLLAR, data: calls.dollar('mintWithMemo', memo) }, intent: dollars },
    'a transfer of dollars': {
      call: { to: DOLLAR, data: calls.dollar('transferWithMemo', memo) },
      intent: dollars,
    },
  }
  const wrong: ReadonlyArray<[string, Row]> = [
    ['wrong_amount', { amount: '0.000006' }],
    ['wrong_recipient', { to_address: OTHER }],
    ['wrong_hash', { eth_transaction_hash: `0x${'ee'.repeat(32)}` }],
  ]
  for (const [name, { call, intent }] of Object.entries(ways)) {
    it(`is what is recorded: ${name}`, async () => {
      expect(kindsOf(rowOf(await sign(call), intent({})))).to.deep.equal([])
    })

    for (const [kind, more] of wrong) {
      it(`shows ${kind} by itself: ${name}`, async () => {
        expect(kindsOf(rowOf(await sign(call), intent(more)))).to.deep.equal([kind])
      })
    }
  }

  it('shows another reference and another token', async () => {
    const raw = await sign({ to: SETTLEMENT, value: 5n, data: calls.settle(reference(3), PAYEE) })
    expect(kindsOf(rowOf(raw, settled({})))).to.deep.equal(['wrong_reference'])
    const ether = await sign({ to: PAYEE, value: 12_500_000n })
    expect(kindsOf(rowOf(ether, dollars({ reference: '' })))).to.deep.equal(['wrong_contract'])
  })

  it('says nothing of a call whose outcome only the chain knows', async () => {
    const batch = calls.settleBatch([reference(1)], [OTHER], [7n])
    const elsewhere = calls.settle(reference(1), OTHER)
    for (const call of [
      { to: SETTLEMENT, value: 7n, data: batch },
      { to: OTHER, value: 7n, data: elsewhere },
      { to: SETTLEMENT, value: 7n, data: `${elsewhere}00` as const },
    ]) {
      expect(kindsOf(rowOf(await sign(call), settled({})))).to.deep.equal([])
    }
  })

  it('is no transaction, which is as if another one had been recorded', () => {
    const row = rowOf('0x0102', direct({ eth_transaction_hash: `0x${'ee'.repeat(32)}` }))
    expect(kindsOf(row)).to.deep.equal(['wrong_hash'])
    const bad = { transaction_id: 'TX1', eth_transaction_hash: keccak256('0x01') }
    expect(readRecord({ ...bad, raw_transaction: '0x012' }, 2)).to.include('raw_transaction')
  })

  describe('on a chain', () => {
    let world: Awaited<ReturnType<typeof startPaidChain>>
    let raw: Hex

    before(async () => {
      world = await startPaidChain()
      raw = await sign({ to: world.payee, value: 5n })
      await world.chain.client.sendRawTransaction({ serializedTransaction: raw })
      await world.mine(3)
    })
    after(async () => {
      await world.chain.stop()
      removeFiles()
    })

    const placeAt = (url: string) => {
      return { urls: [url], settlement: world.settlement, dollar: world.dollar }
    }

    it('spares the node the question what it paid', async () => {
      const target = world.chain.url
      const proxy = await startFaultyProxy({ target, random: createKeyedDraw(1) })
      const row = rowOf(raw, { to_address: world.payee, amount: five })
      const { totals } = await reconcileFile(csvFile([row]), placeAt(proxy.url))
      const asked = proxy.calls.map(({ method, params }) => `${method} ${String(params[1])}`)
      await proxy.stop()
      expect(totals).to.include({ matched: 1, breaks: 0 })
      expect(asked.join()).to.not.include('eth_getTransactionByHash')
      expect(asked.join()).to.not.include('eth_getBlockByNumber true')
    })

    it('is broken before the chain has decided, and one break when it has', async () => {
      const row = rowOf(raw, { to_address: world.payee, amount: '0.000001' })
      const run = (confirmations: number) =>
        reconcileFile(csvFile([row]), placeAt(world.chain.url), { confirmations })
      const early = await run(900)
      expect(early.kinds).to.deep.equal(['TX1 wrong_amount'])
      const late = await run(1)
      expect(late.kinds).to.deep.equal(['TX1 wrong_amount'])
      expect(late.findings[0]?.id).to.equal(early.findings[0]?.id)
    })
  })
}).timeout(60_000)
