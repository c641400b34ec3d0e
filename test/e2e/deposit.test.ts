import { join } from 'node:path'

import { expect } from 'chai'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { plainProvider } from '../../src/chain/rpc/provider.ts'
import { check } from '../../src/verify/check.ts'
import { startReceiver } from '../fixtures/api/receiver.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, type Program } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

describe('a deposit to a user of the running program', () => {
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

  type Asking = { method?: string; key?: string; body?: string }
  const ask = async (path: string, { key, ...rest }: Asking = {}) => {
    const headers = {
      'x-api-key': key ?? facts.groupB!.apiKey,
      ...(rest.body && { 'content-type': 'application/json' }),
    }
    const answer = await fetchInTurn(`${facts.url}${path}`, { ...rest, headers })
    expect(answer.ok, path).to.equal(true)
    return (await answer.json()) as Record<string, unknown>
  }
  type Listed = { transaction_id: string; eth_transaction_hash: string }
  const deposits = async () =>
    (await ask('/api/transactions?type=deposit'))['transactions'] as Listed[]

  const send = async (wei: number): Promise<string> => {
    const rpc = (method: string, params: unknown[] = []) =>
      callRpc({ url: facts.rpcUrl, method, params })
    const [from] = (await rpc('eth_accounts')) as string[]
    const value = `0x${wei.toString(16)}`
    return String(await rpc('eth_sendTransaction', [{ from, to: facts.groupB!.address, value }]))
  }

  it('is listed with hash and fee, has a receipt that proves it, and is reconciled', async () => {
    expect(await deposits()).to.deep.equal([])
    const hash = await send(7)
    await until(async () => (await deposits()).length > 0)
    const [listed] = await deposits()
    expect(listed).to.include({
      type: 'deposit',
      status: 'completed',
      currency: 'ETH',
      amount_wei: '7',
      eth_transaction_hash: hash,
    })
    const path = `/api/transactions/${listed!.transaction_id}`
    const { blockchain_transaction: shown } = (await ask(path)) as {
      blockchain_transaction: Record<string, unknown>
    }
    expect(shown).to.include({ eth_tx_hash: hash, status: 'confirmed', gas_used: 21_000 })
    expect(shown).to.include({ to_address: facts.groupB!.address, amount_wei: '7' })
    const receipt = await ask(`${path}/receipt`, { method: 'POST' })
    const quittance = await (
      await fetchInTurn(`${facts.url}${String(receipt['quittance_path'])}`)
    ).text()
    const claim = { payee: facts.groupB!.address, amount: 7n }
    const trust = { providers: [plainProvider(facts.rpcUrl)], confirmations: 1, claim }
    expect((await check(quittance, trust)).status).to.equal('holds')

    const { apiKey: key } = facts.admin!
    const { run } = (await ask('/api/runs', { method: 'POST', key, body: '{}' })) as {
      run: { run_id: string }
    }
    const readRun = async () =>
      (await ask(`/api/runs/${run.run_id}`, { key }))['run'] as Record<string, unknown>
    await until(async () => (await readRun())['state'] === 'completed')
    expect(await readRun()).to.include({ records: 1, matched: 1 })
  }).timeout(60_000)

  it('is told by events, on the stream and by a webhook', async () => {
    const receiver = await startReceiver()
    const watching = new AbortController()
    try {
      // The same user has an address in Group B and a key in Group A.
      const headers = { 'x-api-key': facts.groupB!.apiKey, accept: 'text/event-stream' }
      const { signal } = watching
      const stream = await fetchInTurn(`${facts.url}/api/stream`, { headers, signal })
      let streamed = ''
      const reading = (async () => {
        for await (const chunk of stream.body!) streamed += Buffer.from(chunk).toString()
      })().catch(() => undefined)
      const subscription = { url: receiver.url, notificationType: 'transactions' }
      const asked = await fetchInTurn(`${facts.url}/v1/notifications/subscriptions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${facts.groupA!.apiKey}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ url: receiver.url, subscriptionDetails: [subscription] }),
      })
      expect(asked.ok, await asked.text()).to.equal(true)
      await until(async () => receiver.received.length > 0)
      const hash = await send(11)
      const found = async () =>
        (await deposits()).find(({ eth_transaction_hash: of }) => of === hash)
      await until(async () => (await found()) !== undefined)
      const { transaction_id: id } = (await found())!
      const { events } = await ask('/api/events?limit=500')
      const told = (events as { transaction_id: string; type: string }[])
        .filter(({ transaction_id: of }) => of === id)
        .map(({ type }) => type)
      const all = ['created', 'processing', 'completed'].map((type) => `transaction.${type}`)
      expect(told).to.deep.equal(all)
      await until(async () => streamed.includes(id) && streamed.includes('completed'))
      const hooks = () => receiver.received.filter(({ body }) => body.includes(id))
      await until(async () => hooks().length === 3)
      watching.abort()
      await reading
    } finally {
      watching.abort()
      await receiver.close()
    }
  }).timeout(60_000)

  it('is found once, though the program is killed while it comes', async () => {
    const before = (await deposits()).length
    await send(8)
    program.kill('SIGKILL')
    await program.ended
    await up()
    const hash = await send(9)
    await until(async () => (await deposits()).some(({ eth_transaction_hash: of }) => of === hash))
    const hashes = (await deposits()).map(({ eth_transaction_hash: of }) => of)
    expect(new Set(hashes).size).to.equal(hashes.length)
    expect(hashes.length - before).to.be.within(1, 2)
  })
})
