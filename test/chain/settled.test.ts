import { expect } from 'chai'
import { encodeFunctionData, getAddress, keccak256, toHex, type Address, type Hex } from 'viem'

import { systemClock } from '../../src/base/clock.ts'
import { settlementAbi } from '../../src/bindings/abis.ts'
import type { EventLog, Receipt } from '../../src/chain/facts.ts'
import { createProviders } from '../../src/chain/providers.ts'
import { createReader } from '../../src/chain/reader.ts'
import { decodeSettled, differenceFromOrder, settledIn } from '../../src/chain/settled.ts'
import { startChain, type TestChain } from '../support/anvil.ts'
import { account, deployerOn, forgetfulRecords } from '../support/deployment.ts'

const REFERENCE = keccak256(toHex('an order'))

describe('a settlement on the chain', () => {
  let chain: TestChain
  let settlement: Address
  let receipt: Receipt
  let log: EventLog
  const order = {
    reference: REFERENCE,
    payer: account(0).address,
    payee: account(1).address,
    token: undefined,
    amount: 1234n,
  }

  before(async () => {
    chain = await startChain()
    const { addresses } = await deployerOn(chain, { records: forgetfulRecords }).execute()
    settlement = addresses.Settlement
    receipt = await settle(order)
    const [only] = receipt.logs
    if (only === undefined) throw new Error('the test has no event')
    log = only
  })
  after(() => chain.stop())

  const settle = async (what: { reference: Hex; payee: Address; amount: bigint }) => {
    const hash = await chain.client.sendTransaction({
      account: account(0),
      chain: null,
      to: settlement,
      value: what.amount,
      gas: 200_000n,
      data: encodeFunctionData({
        abi: settlementAbi,
        functionName: 'settle',
        args: [what.reference, what.payee],
      }),
    })
    const providers = createProviders({
      urls: [chain.url],
      chainId: 31_337,
      clock: systemClock,
      random: () => 0,
    })
    const reader = createReader({ providers, finality: 1 })
    const found = await reader.receipts([hash], new AbortController().signal)
    const value = found.get(hash)?.value
    if (value === undefined) throw new Error('the test has no receipt')
    return value
  }

  it('is read from its receipt, field by field', () => {
    expect(settledIn(receipt, settlement)).to.deep.equal([{ ...order, logIndex: 0 }])
  })

  it('is none when the transaction failed', async () => {
    const again = await settle(order)
    expect(again.status).to.equal('reverted')
    expect(settledIn(again, settlement)).to.deep.equal([])
    expect(settledIn({ ...receipt, status: 'reverted' }, settlement)).to.deep.equal([])
  })

  it('is none when another contract logged it', () => {
    expect(settledIn(receipt, account(5).address)).to.deep.equal([])
  })

  it('is none when anything of its form is different', () => {
    const [topic = '0x', ...rest] = log.topics
    const others: EventLog[] = [
      { ...log, topics: [REFERENCE, ...rest] },
      { ...log, topics: [topic, ...rest.slice(1)] },
      { ...log, topics: [] },
      { ...log, data: `${log.data}00` },
      { ...log, data: '0x' },
      { ...log, topics: [topic, ...rest.slice(0, 2), REFERENCE] },
      { ...log, data: `0x${'ff'.repeat(64)}` },
    ]
    for (const other of others) expect(decodeSettled(other, settlement)).to.equal(undefined)
  })

  it('is held against every field of its order', () => {
    const [settled] = settledIn(receipt, settlement)
    if (settled === undefined) throw new Error('the test has no settlement')
    expect(differenceFromOrder(settled, order)).to.equal(undefined)
    const stranger = getAddress(`0x${'ab'.repeat(20)}`)
    const wrong = {
      reference: keccak256(toHex('another order')),
      payer: stranger,
      payee: stranger,
      token: stranger,
      amount: 1233n,
    }
    for (const [field, value] of Object.entries(wrong)) {
      expect(differenceFromOrder(settled, { ...order, [field]: value })).to.equal(field)
    }
  })
})
