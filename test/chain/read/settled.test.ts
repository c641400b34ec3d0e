import { expect } from 'chai'
import { encodeFunctionData, keccak256, toHex, type Address, type Hex } from 'viem'

import { settlementAbi } from '../../../src/bindings/abis.ts'
import type { Log } from '../../../src/chain/answers.ts'
import { createLogReader } from '../../../src/chain/read/logs.ts'
import { decodeSettled } from '../../../src/chain/read/settled.ts'
import { plainProvider } from '../../../src/chain/rpc/provider.ts'
import { startChain, type TestChain } from '../../fixtures/chain/anvil.ts'
import { account, deployerOn, forgetfulRecords } from '../../fixtures/chain/deployment.ts'

const REFERENCE = keccak256(toHex('an order'))

describe('a settlement on the chain', () => {
  let chain: TestChain
  let settlement: Address
  let log: Log & { logIndex: number }
  const order = {
    reference: REFERENCE,
    payer: account(0).address.toLowerCase() as Hex,
    payee: account(1).address.toLowerCase() as Hex,
    token: undefined,
    amount: 1234n,
  }

  before(async () => {
    chain = await startChain()
    const { addresses } = await deployerOn(chain, { records: forgetfulRecords }).execute()
    settlement = addresses.Settlement
    const [only] = await settle(order)
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
    const { blockNumber } = await chain.client.waitForTransactionReceipt({ hash })
    const [fromBlock, toBlock] = [blockNumber, blockNumber]
    const { signal } = new AbortController()
    const read = createLogReader(plainProvider(chain.url))
    const query = { address: settlement, topics: [], fromBlock, toBlock, signal }
    const logs: Array<Log & { logIndex: number }> = []
    for await (const { value } of read(query)) logs.push(...value)
    return logs
  }

  it('is read from its event, field by field', () => {
    expect(decodeSettled(log, settlement)).to.deep.equal({ ...order, logIndex: 0 })
  })

  it('is none when another contract logged it', () => {
    expect(decodeSettled(log, account(5).address)).to.equal(undefined)
  })

  it('is none when anything of its form is different', () => {
    const [topic = '0x', ...rest] = log.topics
    const others: Array<Log & { logIndex: number }> = [
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
})
