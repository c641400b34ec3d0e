import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { addressFrom } from '../engines/sim/world.ts'
import { upHere, type AppHere } from '../fixtures/api/running-app.ts'
import { runHere } from '../fixtures/commands.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

describe('a payment, verified by someone who only has its hash', () => {
  let app: AppHere
  const folder = temporaryFolder()
  const payee = addressFrom('e2e verified')
  const env = { QUITTANCE_DATA: join(folder.path, 'data') }

  before(async () => {
    fillDataFolder(env.QUITTANCE_DATA)
    app = await upHere({ ...env, QUITTANCE_BLOCK_MS: '100' })
  })
  after(async () => {
    await app.stop()
    folder.remove()
  })

  const send = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await fetchInTurn(`${app.facts.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        'x-api-key': app.facts.groupB?.apiKey ?? '',
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as Record<string, unknown>
  }

  const paid = async (use_contract: boolean): Promise<{ hash: string; reference: string }> => {
    const order = { to_address: payee, amount: '0.25', description: 'invoice 42', use_contract }
    const { transaction_id: id } = await send('/api/blockchain/transactions', order)
    let detail: Record<string, unknown> = {}
    await until(async () => {
      detail = await send(`/api/transactions/${String(id)}`)
      return detail['status'] === 'completed'
    })
    const { reference } = detail['blockchain_transaction'] as { reference: string }
    return { hash: String(detail['eth_transaction_hash']), reference }
  }

  const run = async (line: string): Promise<{ code: unknown; stdout: string }> =>
    runHere(line.split(' '), env)

  it('holds by both routes, and is proven by a file until that is changed', async () => {
    const claim = `--payee ${payee} --amount 0.25`
    const [direct, settled] = [await paid(false), await paid(true)]
    expect(await run(`verify tx ${direct.hash} ${claim}`)).to.include({ code: 0 })
    const order = `verify tx ${settled.hash} ${claim} --reference ${settled.reference}`
    const verdict = await run(`${order} --json`)
    expect(verdict.code).to.equal(0)
    expect(JSON.parse(verdict.stdout)).to.include({ status: 'holds' })
    const plain = await run(`verify tx ${settled.hash} ${claim}`)
    expect(plain.code).to.equal(0)
    expect(plain.stdout).to.include('0.25 ETH')

    const file = join(folder.path, 'invoice-42.json')
    expect((await run(`prove ${settled.hash} --out ${file}`)).code).to.equal(0)
    expect((await run(`check ${file}`)).code).to.equal(0)
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace('"amount": "25', '"amount": "95'))
    const changed = await run(`check ${file} --json`)
    expect(changed.code).to.equal(1)
    expect(JSON.parse(changed.stdout)).to.include({ status: 'disagrees' })
  })
}).timeout(60_000)
