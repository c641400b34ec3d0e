import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { upHere } from '../fixtures/api/running-app.ts'
import { deployForFile } from '../fixtures/chain/deployment.ts'
import { L1_GAS, startArbitrumChain } from '../fixtures/chain/rollup.ts'
import { runHere } from '../fixtures/commands.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const CHAIN = { chainId: 31_339, blockMs: 100 }

type Fields = Record<string, unknown>

// A chain of Arbitrum, whose gas has the data on L1 in it
// ├── the gas limit of a payment has room for it, also of a plain transfer
// ├── what a payment has cost is its gas, and nothing is beside it
// └── a record without the gas for L1 is a break
describe('a chain of Arbitrum', () => {
  const folder = temporaryFolder()
  const ending: Array<() => Promise<unknown>> = []
  let env: Record<'QUITTANCE_DATA' | 'QUITTANCE_CHAINS', string>
  let facts: ReadyFacts
  let plainUrl: string

  before(async () => {
    const chain = await startArbitrumChain(CHAIN)
    ;({ plainUrl } = chain)
    ending.push(chain.stop)
    const file = join(folder.path, 'chains.json')
    const deployed = await deployForFile(chain.url)
    const on = { name: 'nitro', id: CHAIN.chainId, code: 'ARB', fees: 'arbitrum' }
    writeFileSync(file, JSON.stringify([{ ...on, providers: [chain.url], ...deployed }]))
    env = { QUITTANCE_DATA: join(folder.path, 'data'), QUITTANCE_CHAINS: file }
    fillDataFolder(env.QUITTANCE_DATA)
    const app = await upHere(env)
    ending.unshift(app.stop)
    ;({ facts } = app)
  })
  after(async () => {
    for (const end of ending) await end()
    folder.remove()
  })

  const ask = async (path: string, body?: object): Promise<Fields> => {
    const answer = await fetchInTurn(`${facts.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'x-api-key': facts.groupB!.apiKey, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as Fields
  }
  /** Until it is final. */
  const pay = async (of: object): Promise<Fields> => {
    const payment = { to_address: PAYEE, amount: 0.001, description: 'on Arbitrum', ...of }
    const { transaction_id: id } = await ask('/api/blockchain/transactions', payment)
    const read = () => ask(`/api/transactions/${String(id)}`)
    await until(async () => (await read())['status'] === 'completed')
    return read()
  }
  /** As the chain without the gas of L1 has it. */
  const plain = async (method: string, hash: string): Promise<Record<string, string>> =>
    (await callRpc({ url: plainUrl, method, params: [hash] })) as Record<string, string>

  for (const useContract of [false, true]) {
    const how = useContract ? 'through the contract' : 'by a plain transfer'
    it(`takes the gas for L1 into the limit and the cost of a payment ${how}`, async () => {
      const paid = await pay({ use_contract: useContract })
      const hash = String(paid['eth_transaction_hash'])
      const { gas } = await plain('eth_getTransactionByHash', hash)
      const { gasUsed } = await plain('eth_getTransactionReceipt', hash)
      const used = BigInt(gasUsed!) + L1_GAS
      expect(BigInt(gas!) >= used, `${gas} of ${used}`).to.equal(true)
      const { gas_used: told, rollup_fee: beside } = paid['blockchain_transaction'] as Fields
      expect([String(told), String(beside)]).to.deep.equal([String(used), '0'])
    })
  }

  it('finds a record whose fee has not the gas for L1', async () => {
    const paid = await pay({})
    const shown = paid['blockchain_transaction'] as Fields
    const [hash, used, price] = [shown['eth_tx_hash'], shown['gas_used'], shown['gas_price']]
    const kindsOf = async (gas: bigint) => {
      const file = join(folder.path, 'payments.csv')
      const head = 'transaction_id,eth_transaction_hash,to_address,amount,gas_used,gas_price'
      const row = ['TX1', hash, PAYEE, '0.001', gas, price].map(String).join()
      writeFileSync(file, `${head}\n${row}\n`)
      const { stdout } = await runHere(['reconcile', '--source', file, '--json'], env)
      const { breaks } = JSON.parse(stdout) as { breaks: Array<{ kind: string }> }
      return breaks.map(({ kind }) => kind)
    }
    expect(await kindsOf(BigInt(used as number))).to.deep.equal([])
    expect(await kindsOf(BigInt(used as number) - L1_GAS)).to.deep.equal(['fee_mismatch'])
  })
})
