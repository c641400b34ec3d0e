import { expect } from 'chai'

import { selectorOf } from '../../src/chain/read/events.ts'
import { checkReceipt, formatShown, shownBy, type Shown } from '../../src/console/receipt-steps.ts'
import type { Provider } from '../../src/verify/index.ts'
import { prove } from '../../src/verify/prove.ts'
import type { ReceiptFactsWire } from '../../src/wire/group-b/admin.ts'
import {
  CHAIN_ID,
  calls,
  reference,
  startPaidChain,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { uint } from '../fixtures/chain/token-code.ts'

describe('the steps of a receipt', () => {
  let world: PaidChain
  const files: Record<'ETH' | 'USD', { hash: string; file: string }> = {
    ETH: { hash: '', file: '' },
    USD: { hash: '', file: '' },
  }

  before(async () => {
    world = await startPaidChain()
    const { settlement, dollar, payee } = world
    const ether = { to: settlement, data: calls.settle(reference(1), payee), value: 2_500_000n }
    const minting = { to: payee, amount: 2_500_000n, memo: reference(2) }
    const dollars = { to: dollar, data: calls.dollar('mintWithMemo', minting) }
    files.ETH = await proven(await world.send(ether))
    files.USD = await proven(await world.send(dollars))
  })
  after(() => world.chain.stop())

  const proven = async (hash: string) => {
    const options = { providers: [world.node('a')], confirmations: 1 }
    const { quittance = '' } = await prove({ chainId: CHAIN_ID, hash }, options)
    return { hash, file: quittance }
  }

  const shown = (paid: 'ETH' | 'USD', parts: Partial<Shown> = {}): Shown => {
    const token = paid === 'USD' ? world.dollar : null
    const decimals = paid === 'USD' ? 6 : 18
    const common = { hash: files[paid].hash, currency: paid, decimals, token }
    return { ...common, amount: 2_500_000n, ...parts }
  }
  const checked = (paid: 'ETH' | 'USD', parts: Partial<Shown> = {}, node = world.node('visitor')) =>
    checkReceipt({ file: files[paid].file, shown: shown(paid, parts), node, confirmations: 1 })
  /** The step that compares the payment of the file with what the page shows. */
  const same = async (...asked: Parameters<typeof checked>) => (await checked(...asked)).steps[2]

  const factsOf = (amount: Partial<ReceiptFactsWire>) =>
    ({ eth_transaction_hash: files.USD.hash, paid: null, ...amount }) as ReceiptFactsWire

  it('tell an amount in the token or in ETH, and not in its smallest unit', async () => {
    for (const amount_decimal of ['2.5', '2.50']) {
      const read = shownBy(factsOf({ amount_decimal, currency: 'USD' }))
      const step = await same('USD', { ...read, hash: files.USD.hash })
      expect(step).to.include({ state: 'holds', found: `2.5 RUSD to ${world.payee}.` })
    }
    const ether = await same('ETH')
    expect(ether).to.include({ state: 'holds', found: `0.0000000000025 ETH to ${world.payee}.` })
  })

  it('compare the payee, the token and the reference of the page with the file', async () => {
    const { payee, payer } = world
    expect(await same('USD', { payee, reference: reference(2) })).to.include({ state: 'holds' })
    expect(await same('ETH', { payee, reference: reference(1) })).to.include({ state: 'holds' })
    const wrong: [Partial<Shown>, string][] = [
      [{ payee: payer }, payer],
      [{ reference: reference(3) }, reference(3)],
    ]
    for (const [parts, named] of wrong) {
      for (const paid of ['USD', 'ETH'] as const) {
        const step = await same(paid, parts)
        expect(step, named).to.include({ state: 'fails' })
        expect(step?.found).to.include(named)
      }
    }
    const other = await same('USD', { token: payer })
    expect(other).to.include({ state: 'fails' })
    expect(other?.found).to.include(`2.5 RUSD of the token ${world.dollar}`)
  })

  it('fail where the page shows other dollars than the file proves', async () => {
    for (const amount of [2_510_000n, 25_000_000n, 1n, 2_500_001n]) {
      const step = await same('USD', { amount })
      expect(step, `${amount}`).to.include({ state: 'fails' })
      expect(step?.found)
        .to.include('2.5 RUSD')
        .and.include(formatShown(shown('USD', { amount })))
    }
  })

  it('fail where the page shows dollars and the file proves ETH, and the other way', async () => {
    for (const token of [null, world.dollar]) {
      const dollars = { hash: files.ETH.hash, currency: 'USD', token }
      expect(await same('ETH', dollars)).to.include({ state: 'fails' })
    }
    const ether = { hash: files.USD.hash, currency: 'ETH', token: null }
    expect(await same('USD', ether)).to.include({ state: 'fails' })
  })

  it('fail where the page takes a token of 18 decimals for dollars', async () => {
    const honest = world.node('visitor')
    const node: Provider = {
      ...honest,
      request: async (call) => {
        const { data } = (call.params?.[0] ?? {}) as { data?: string }
        return data === selectorOf('decimals()') ? uint(18n) : honest.request(call)
      },
    }
    const step = await same('USD', {}, node)
    expect(step).to.include({ state: 'fails' })
    expect(step?.found).to.include('0.0000000000025 RUSD').and.include('2.5 USD')
  })

  it('count as the page does where the node knows no such block', async () => {
    const { steps } = await checked('USD', {}, { ...world.node('visitor'), request: unreachable })
    expect(steps[2]).to.include({ state: 'holds', found: `2.5 USD to ${world.payee}.` })
    expect(steps[3]).to.include({ state: 'waits' })
  })

  it('hold with caveats: a mint, and a contract that the page alone names', async () => {
    const { caveats } = await checked('USD')
    expect(caveats.join(' ')).to.include('It is a mint').and.not.include('was not named')
    const known = await checked('ETH', { settlement: world.settlement })
    const alone = 'Only visitor says that the block is part of the chain.'
    expect(known.caveats).to.deep.equal([alone])
    const FAKE = world.payer
    const { steps } = await checked('ETH', { settlement: FAKE })
    expect(steps[2]).to.include({ state: 'fails' })
  })
})

const unreachable = () => Promise.reject(new Error('unreachable'))
