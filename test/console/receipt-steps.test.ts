import { expect } from 'chai'

import { checkReceipt, type Shown } from '../../src/console/receipt-steps.ts'
import { prove } from '../../src/verify/prove.ts'
import { CHAIN_ID, calls, reference, startPaidChain, type PaidChain } from '../support/verify.ts'

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

  /** The step that holds the payment of the file against what the page shows. */
  const same = async (paid: 'ETH' | 'USD', amount: Shown['amount']) => {
    const { hash, file } = files[paid]
    const node = world.node('visitor')
    const { steps } = await checkReceipt({ file, shown: { hash, amount }, node, confirmations: 1 })
    return steps[2]
  }

  it('hold an amount of dollars against the file, as one of ETH', async () => {
    for (const decimal of ['2.5', '2.50']) {
      const dollars = await same('USD', { amount_decimal: decimal, currency: 'USD' })
      expect(dollars).to.include({ state: 'holds' })
      expect(dollars?.found).to.include('2500000')
    }
    const wei = { amount_decimal: '0.0000000000025', amount_wei: '2500000', currency: 'ETH' }
    expect(await same('ETH', wei)).to.include({ state: 'holds' })
  })

  it('fail where the page shows other dollars than the file proves', async () => {
    for (const decimal of ['2.51', '25', '0.000001', '2.500001']) {
      const step = await same('USD', { amount_decimal: decimal, currency: 'USD' })
      expect(step, decimal).to.include({ state: 'fails' })
    }
  })

  it('fail where the page shows dollars and the file proves ETH, and the other way', async () => {
    const dollars = { amount_decimal: '2.5', currency: 'USD' }
    expect(await same('ETH', dollars)).to.include({ state: 'fails' })
    const wei = { amount_decimal: '0.0000000000025', amount_wei: '2500000', currency: 'ETH' }
    expect(await same('USD', wei)).to.include({ state: 'fails' })
  })
})
