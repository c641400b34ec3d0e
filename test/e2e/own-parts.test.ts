import { cpSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { startOwnParties, type Asked, type OwnParties } from '../fixtures/books/own-parties.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { linkPackage } from '../fixtures/linked-package.ts'
import { runFile, type Program } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const TO_PAYEE = { to_address: PAYEE, amount: 0.01, description: 'Invoice 42' }
const WIRE = { type: 'wire', name: 'Ada Lovelace', addressLine1: '1 Main Street' }

type Answer = { status: number; body: Record<string, unknown> }

/** A program outside of this tree that brings its bank, its gateway, its signers and its screen. */
describe('a settlement service with its own parts', () => {
  const folder = temporaryFolder()
  const data = join(folder.path, 'data')
  let parties: OwnParties
  let program: Program
  let facts: ReadyFacts

  const start = async (): Promise<void> => {
    program = runFile(join(folder.path, 'service.ts'), [], {
      PARTIES_URL: parties.url,
      QUITTANCE_DATA: data,
      QUITTANCE_BLOCK_MS: '100',
      QUITTANCE_CONFIRMATIONS: '2',
      PORT: '0',
    })
    facts = await program.untilReady()
  }

  before(async () => {
    parties = await startOwnParties()
    linkPackage(folder.path)
    cpSync('test/fixtures/own-service.ts', join(folder.path, 'service.ts'))
    fillDataFolder(data)
    await start()
  })
  after(async () => {
    program.kill('SIGTERM')
    expect(await program.ended, program.output().stderr).to.equal(0)
    await parties.stop()
    folder.remove()
  })
  beforeEach(() => parties.asked.splice(0))

  const ask = async (operation: string, body?: object, key?: string): Promise<Answer> => {
    const [method = '', path = ''] = operation.split(' ')
    const isA = path.startsWith('/v1')
    const credential = isA ? facts.groupA?.apiKey : facts.groupB?.apiKey
    const answer = await fetchInTurn(`${facts.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${credential}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(key && { 'idempotency-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Answer['body'] }
  }
  const untilStatus = async (path: string, wanted: string): Promise<Answer['body']> => {
    let body: Answer['body'] = {}
    await until(async () => {
      const answer = await ask(`GET ${path}`)
      body = (answer.body['data'] ?? answer.body) as Answer['body']
      return body['status'] === wanted
    })
    return body
  }
  const count = async () => (await ask('GET /api/transactions')).body['total']
  /** The gateway has news of a payment. */
  const tell = async (externalId: string, token: string): Promise<number> => {
    const headers = { 'voucher-token': token, 'content-type': 'text/plain' }
    const init = { method: 'POST', headers, body: externalId }
    return (await fetchInTurn(`${facts.url}/webhooks/gateways/9`, init)).status
  }
  /** For a moment, something else is answered. */
  const answering = async <T>(
    path: string,
    answer: (body: Asked['body']) => unknown,
    work: () => Promise<T>,
  ): Promise<T> => {
    const usual = parties.answers[path]!
    parties.answers[path] = answer
    try {
      return await work()
    } finally {
      parties.answers[path] = usual
    }
  }

  it('lists and documents its gateway and its bank like those of the platform', async () => {
    const { body } = await ask('GET /api/gateways')
    expect(body['gateways']).to.deep.include({
      gateway_id: 9,
      kind: 'voucher',
      currencies: ['USD'],
    })
    const institutions = (await ask('GET /api/institutions')).body['institutions']
    expect(institutions).to.deep.include({ institution_id: 7, kind: 'ach', currencies: ['USD'] })
    const document = JSON.stringify((await ask('GET /openapi/group-b.json')).body)
    expect(document).to.include('"voucher_url"').and.to.include('"wallet_checkout","voucher"')
  })

  it('takes a payment through its own gateway', async () => {
    const asked = { gateway_id: 9, currency: 'USD', description: 'Two books' }
    const small = await ask('POST /api/payments', { ...asked, amount: 0.5 })
    expect(small.body).to.include({ code: 'limit_exceeded' })
    const { status, body } = await ask('POST /api/payments', { ...asked, amount: 20 })
    expect(status, JSON.stringify(body)).to.equal(201)
    expect(body).to.include({ voucher_url: 'https://vouchers.example/1' })
    const id = String(body['transaction_id'])
    expect(parties.at('/voucher/create')).to.have.length(1)
    expect(parties.at('/voucher/create')[0]).to.include({ transactionId: id, amount: '2000' })
    const redeemed = { status: 'completed', externalId: `V-${id}` }
    await answering(
      '/voucher/read',
      () => redeemed,
      async () => {
        expect(await tell(`V-${id}`, 'forged')).to.equal(400)
        expect(await tell(`V-${id}`, 'genuine')).to.equal(200)
        await untilStatus(`/api/payments/${id}/status`, 'completed')
      },
    )
    const refund = `POST /api/payments/${id}/refund`
    const shut = () => ({ allowed: false, rule: 'shut' })
    expect((await answering('/screen', shut, () => ask(refund))).status).to.equal(403)
    const money = { userId: facts.groupB?.userId, amount: '20', currency: 'USD', gatewayId: 9 }
    expect(parties.at('/screen').at(-1)).to.deep.equal({ way: 'refund', ...money })
    await ask(refund)
    await untilStatus(`/api/payments/${id}/status`, 'refunded')
  })

  it('pays on the chain with signatures of its own vault', async () => {
    const { status, body } = await ask('POST /api/blockchain/transactions', TO_PAYEE)
    expect(status, JSON.stringify(body)).to.equal(201)
    const path = `/api/transactions/${String(body['transaction_id'])}`
    const { eth_transaction_hash: hash } = await untilStatus(path, 'completed')
    const mined = (await callRpc({
      url: facts.rpcUrl,
      method: 'eth_getTransactionByHash',
      params: [hash],
    })) as { from: string; to: string }
    const from = String(body['from_address'])
    expect(mined.from).to.equal(from.toLowerCase())
    expect(parties.at('/vault/sign').map(({ address }) => address)).to.include(from)
  })

  it('stores nothing that another key has signed, or while its vault is away', async () => {
    const before = await count()
    const sign = parties.answers['/vault/sign']!
    const address = facts.signers?.[0]?.address
    const answers: ReadonlyArray<[OwnParties['answers'][string], number]> = [
      [({ digest }) => sign({ digest, address }), 502],
      [() => 500, 503],
    ]
    for (const [answer, expected] of answers) {
      const { status } = await answering('/vault/sign', answer, () =>
        ask('POST /api/blockchain/transactions', TO_PAYEE),
      )
      expect(status).to.equal(expected)
    }
    expect(await count()).to.equal(before)
  })

  it('refuses a payment that its own screen refuses, and any that it cannot decide', async () => {
    const before = await count()
    const pay = () => ask('POST /api/blockchain/transactions', TO_PAYEE, 'screened')
    const listed = ({ address }: Asked['body']) =>
      address === PAYEE ? { allowed: false, rule: 'sanctions' } : { allowed: true }
    const refused = await answering('/screen', listed, pay)
    expect(refused.status).to.equal(403)
    expect(refused.body).to.include({ code: 'policy_refused' })
    expect(JSON.stringify(refused.body['details'])).to.include('sanctions')
    for (const answer of [() => 500, () => ({}), () => undefined]) {
      expect((await answering('/screen', answer, pay)).status).to.equal(503)
    }
    expect(await count()).to.equal(before)
    expect(parties.at('/vault/sign')).to.have.length(0)
    expect((await pay()).status).to.equal(201)
    const asked = parties.at('/screen').length
    expect((await pay()).status).to.equal(201)
    expect(parties.at('/screen')).to.have.length(asked)
  })

  it('asks its screen about every way in which money moves', async () => {
    const items = [{ to_address: PAYEE, amount: 0.001 }]
    const chain = { type: 'blockchain', chain: 'ETH', address: PAYEE }
    const transfer = { institution_id: 7, amount: 12.5, currency: 'USD', description: 'salary' }
    const recipient = { account_number: '123456789', routing_number: '021000021' }
    const usd = { amount: '1.00', currency: 'USD' }
    const wallets = (await ask('GET /v1/wallets')).body['data'] as { walletId: string }[]
    const source = { type: 'wallet', id: wallets[0]?.walletId }
    const burnt = { type: 'blockchain', chain: 'ETH', address: PAYEE }
    const requests: ReadonlyArray<[string, object]> = [
      ['POST /api/blockchain/transactions', TO_PAYEE],
      ['POST /api/blockchain/batches', { items }],
      ['POST /api/payments', { ...transfer, institution_id: undefined, gateway_id: 9 }],
      ['POST /api/transfers', { ...transfer, recipient_info: recipient }],
      ['POST /v1/payments', { ...usd, destination: WIRE }],
      ['POST /v1/businessAccount/transfers', { ...usd, destination: chain }],
      ['POST /v1/transfers', { ...usd, source, destination: chain }],
      ['POST /v1/transfers', { ...usd, source: burnt, destination: WIRE }],
    ]
    for (const [operation, request] of requests) {
      const body = operation.includes('/v1/')
        ? { ...request, idempotencyKey: crypto.randomUUID() }
        : request
      const refused = await answering(
        '/screen',
        () => ({ allowed: false, rule: 'shut' }),
        () => ask(operation, body),
      )
      expect(refused.status, `${operation} ${JSON.stringify(refused.body)}`).to.equal(403)
    }
    const userId = facts.groupB?.userId
    const local = { userId, chain: 'local', address: PAYEE }
    const dollars = { userId, currency: 'USD' }
    const { type: _, ...beneficiary } = WIRE
    const account = { accountNumber: '123456789', routingNumber: '021000021' }
    const { description } = transfer
    expect(parties.at('/screen')).to.deep.equal([
      { ...local, way: 'chain', amount: '0.01', currency: 'ETH', description: 'Invoice 42' },
      { ...local, way: 'chain', amount: '0.001', currency: 'ETH' },
      { ...dollars, way: 'payment', amount: '12.5', gatewayId: 9, description },
      {
        ...dollars,
        way: 'transfer',
        amount: '12.5',
        institutionId: 7,
        beneficiary: account,
        description,
      },
      { ...dollars, way: 'wire', amount: '1.00', beneficiary },
      { ...local, ...dollars, way: 'mint', amount: '1.00' },
      { ...local, ...dollars, way: 'withdrawal', amount: '1.00' },
      { ...dollars, way: 'wire', amount: '1.00', beneficiary },
    ])
  })

  it('asks its bank by the key after it was killed, and sends a wire once', async () => {
    const body = {
      amount: '10.00',
      currency: 'USD',
      destination: WIRE,
      idempotencyKey: crypto.randomUUID(),
    }
    const { status, body: made } = await answering(
      '/bank/send',
      () => undefined,
      async () => {
        const answer = await ask('POST /v1/payments', body)
        await until(async () => parties.at('/bank/send').length > 0)
        program.kill('SIGKILL')
        await program.ended
        return answer
      },
    )
    expect(status, JSON.stringify(made)).to.equal(201)
    const { id } = made['data'] as { id: string }
    const key = `quittance-payment-${id}`
    expect(parties.at('/bank/send')).to.have.length(1)
    expect(parties.at('/bank/send')[0]).to.include({ key, amountMinor: '1000', method: 'wire' })
    await start()
    await untilStatus(`/v1/payments/${id}`, 'paid')
    expect(parties.at('/bank/send')).to.have.length(1)
    expect(parties.at('/bank/find')[0]).to.include({ key })
  })

  it('mints and burns with its own vault, and sends the wire of a redeem by its bank', async () => {
    const usd = { amount: '1.00', currency: 'USD' }
    const post = async (path: string, body: object): Promise<string> => {
      const idempotencyKey = crypto.randomUUID()
      const answer = await ask(`POST ${path}`, { ...usd, ...body, idempotencyKey })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
      const { id } = answer.body['data'] as { id: string }
      await untilStatus(`${path}/${id}`, 'complete')
      return id
    }
    const address = facts.groupB?.address
    const chain = { type: 'blockchain', chain: 'ETH' }
    await post('/v1/businessAccount/transfers', { destination: { ...chain, address } })
    const source = { ...chain, custodial: true }
    const id = await post('/v1/transfers', { source, destination: WIRE })
    const keys = parties.at('/bank/send').map(({ key }) => key)
    expect(keys).to.deep.equal([`quittance-redeem-${id}`])
  })

  it('sends transfers through its institution, and returns what its bank refuses', async () => {
    const transfer = { institution_id: 7, amount: 12.5, currency: 'USD', description: 'salary' }
    const { body } = await answering(
      '/bank/send',
      () => 422,
      async () => {
        const answer = await ask('POST /api/transfers', transfer)
        await untilStatus(
          `/api/transfers/${String(answer.body['transaction_id'])}/status`,
          'failed',
        )
        return answer
      },
    )
    expect(parties.at('/bank/send')).to.have.length(1)
    const path = `/api/transfers/${String(body['transaction_id'])}/status`
    expect((await ask(`GET ${path}`)).body).to.include({ error_code: 'no' })
    const sent = await ask('POST /api/transfers', transfer)
    await untilStatus(`/api/transfers/${String(sent.body['transaction_id'])}/status`, 'completed')
  })
})
