import { join } from 'node:path'

import { expect } from 'chai'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { addressFrom } from '../engines/sim/world.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, type Program } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

describe('a payment by the API', () => {
  let folder: ReturnType<typeof temporaryFolder>
  const programs: Program[] = []

  before(() => {
    folder = temporaryFolder()
    fillDataFolder(join(folder.path, 'data'))
  })
  afterEach(async () => {
    for (const program of programs.splice(0)) {
      program.kill('SIGTERM')
      await program.ended
    }
  })
  after(() => folder.remove())

  const up = async (): Promise<{ program: Program; facts: ReadyFacts }> => {
    const QUITTANCE_DATA = join(folder.path, 'data')
    const program = runProgram(['up'], { QUITTANCE_DATA, PORT: '0', QUITTANCE_BLOCK_MS: '100' })
    programs.push(program)
    return { program, facts: await program.untilReady() }
  }

  const send = async (facts: ReadyFacts, path: string, body?: object) => {
    const answer = await fetchInTurn(`${facts.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        'x-api-key': facts.groupB?.apiKey ?? '',
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as Record<string, unknown>
  }

  const pay = async (facts: ReadyFacts, payee: string, use_contract: boolean) => {
    const order = { to_address: payee, amount: '0.000000000000000001', description: 'one wei' }
    const body = await send(facts, '/api/blockchain/transactions', { ...order, use_contract })
    return String(body['transaction_id'])
  }

  const isCompleted = async (facts: ReadyFacts, id: string) =>
    (await send(facts, `/api/transactions/${id}`))['status'] === 'completed'

  it('is completed on the chain, by both routes', async () => {
    const { facts } = await up()
    const payee = addressFrom('e2e both')
    for (const useContract of [false, true]) {
      const id = await pay(facts, payee, useContract)
      await until(() => isCompleted(facts, id))
    }
    const params = [payee, 'latest']
    expect(await callRpc({ url: facts.rpcUrl, method: 'eth_getBalance', params })).to.equal('0x2')
    const metrics = await (await fetchInTurn(`${facts.url}/metrics`)).text()
    expect(metrics).to.match(/quittance_final_transactions_total\{chain="local"\} 2\n/)
    expect(await send(facts, '/api/blockchain/balance')).to.include({
      success: true,
      address: facts.groupB?.address,
    })
  })

  it('is paid once, though the program is killed before anybody knows of it', async () => {
    const first = await up()
    const payee = addressFrom('e2e killed')
    const ids = await Promise.all([false, true, false].map((way) => pay(first.facts, payee, way)))
    first.program.kill('SIGKILL')
    await first.program.ended
    const { facts } = await up()
    for (const id of ids) await until(() => isCompleted(facts, id))
    const params = [payee, 'latest']
    expect(await callRpc({ url: facts.rpcUrl, method: 'eth_getBalance', params })).to.equal('0x3')
  })
})
