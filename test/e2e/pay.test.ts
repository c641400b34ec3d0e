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
  let program: Program
  let facts: ReadyFacts

  const up = async (): Promise<void> => {
    const QUITTANCE_DATA = join(folder.path, 'data')
    program = runProgram(['up'], { QUITTANCE_DATA, PORT: '0', QUITTANCE_BLOCK_MS: '100' })
    facts = await program.untilReady()
  }

  before(async () => {
    folder = temporaryFolder()
    fillDataFolder(join(folder.path, 'data'))
    await up()
  })
  after(async () => {
    program.kill('SIGTERM')
    await program.ended
    folder.remove()
  })

  const send = async (path: string, body?: object) => {
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

  const pay = async (payee: string, use_contract: boolean) => {
    const order = { to_address: payee, amount: '0.000000000000000001', description: 'one wei' }
    const body = await send('/api/blockchain/transactions', { ...order, use_contract })
    return String(body['transaction_id'])
  }

  const isCompleted = async (id: string) =>
    (await send(`/api/transactions/${id}`))['status'] === 'completed'

  it('is completed on the chain, by both routes', async () => {
    const payee = addressFrom('e2e both')
    for (const useContract of [false, true]) {
      const id = await pay(payee, useContract)
      await until(() => isCompleted(id))
    }
    const params = [payee, 'latest']
    expect(await callRpc({ url: facts.rpcUrl, method: 'eth_getBalance', params })).to.equal('0x2')
    const metrics = await (await fetchInTurn(`${facts.url}/metrics`)).text()
    expect(metrics).to.match(/quittance_final_transactions_total\{chain="local"\} 2\n/)
    expect(await send('/api/blockchain/balance')).to.include({
      success: true,
      address: facts.groupB?.address,
    })
  })

  it('is paid once, though the program is killed before anybody knows of it', async () => {
    const payee = addressFrom('e2e killed')
    const ids = await Promise.all([false, true, false].map((way) => pay(payee, way)))
    program.kill('SIGKILL')
    await program.ended
    await up()
    for (const id of ids) await until(() => isCompleted(id))
    const params = [payee, 'latest']
    expect(await callRpc({ url: facts.rpcUrl, method: 'eth_getBalance', params })).to.equal('0x3')
  })
})
