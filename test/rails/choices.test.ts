import { expect } from 'chai'

import { transferEndpoints } from '../../src/api/endpoints/api/transfers.ts'
import { systemClock } from '../../src/base/clock.ts'
import { parseConfig } from '../../src/base/config.ts'
import { createLogger } from '../../src/base/logger.ts'
import type { GatewayChoice } from '../../src/base/rails-config.ts'
import { institutionsOf } from '../../src/rails/bank.ts'
import { createBank, type Bank } from '../../src/rails/bank.ts'
import { createSimulatedBank } from '../../src/rails/simulators/bank.ts'
import { createSimulatedCard } from '../../src/rails/simulators/card.ts'
import { serveSimulated, type SimulatorServer } from '../../src/rails/simulators/serve.ts'
import { createWireRail, WIRE_POLICY } from '../../src/rails/wire-rail.ts'
import type { Db } from '../../src/store/database/database.ts'
import { mainWallet } from '../../src/store/ledger/wallets.ts'
import { countRows, startRailsApi } from '../fixtures/api/rails-api.ts'
import { NO_PARTIES, startGateways } from '../fixtures/books/gateways.ts'
import { deposit, DOLLAR } from '../fixtures/books/money.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const PAYMENT = { amount: 20.5, currency: 'USD', description: 'Two books' }
const DAY_MS = 24 * 3_600_000
const { signal } = new AbortController()

type Sent = { headers: Record<string, string>; body: string }

describe('gateways and institutions of the configuration', () => {
  let db: Db
  let clock: TestClock
  let servers: SimulatorServer[]

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    clock = createTestClock()
    servers = []
  })

  afterEach(async () => {
    await Promise.all(servers.map(async (server) => server.close()))
  })

  /** A card gateway with keys of its own, and what it was asked and has told. */
  const startCard = async (name: string) => {
    const asked: string[] = []
    const sent: Sent[] = []
    const secrets = { key: `sk_test_${name}`, webhookSecret: `whsec_${name}` }
    const card = createSimulatedCard({
      ...secrets,
      now: () => clock.now().getTime(),
      dayMs: DAY_MS,
      webhooks: { tell: () => undefined, send: (message) => void sent.push(message) },
    })
    const server = await serveSimulated((request) => {
      asked.push(`${request.method} ${request.path}`)
      return card(request)
    })
    servers.push(server)
    return { settings: { ...secrets, url: server.url }, asked, sent }
  }

  const startTwo = async (gateways: readonly GatewayChoice[]) => {
    const [usual, eu] = [await startCard('usual'), await startCard('eu')]
    const card = new Map([['eu', eu.settings]])
    const named = { ...NO_PARTIES.named, card }
    const parties = { gateways, usual: { card: usual.settings }, named }
    return { usual, eu, bench: await startGateways({ db, clock, parties }) }
  }

  const TWO: readonly GatewayChoice[] = [
    { id: 70, kind: 'card', party: 'eu' },
    { id: 7, kind: 'card', party: undefined },
    { id: 3, kind: 'wallet_checkout', party: undefined },
  ]

  it('are listed, and each payment goes to the account of its gateway alone', async () => {
    const { usual, eu, bench } = await startTwo(TWO)
    const { body } = await bench.api.get('/api/gateways')
    const listed = body['gateways'] as Array<Record<string, unknown>>
    // Nobody has a key of the wallet.
    expect(listed.map((one) => [one['gateway_id'], one['kind']])).to.deep.equal([
      [7, 'card'],
      [70, 'card'],
    ])
    expect((await bench.api.post('/api/payments', { gateway_id: 1, ...PAYMENT })).status).to.equal(
      400,
    )
    expect((await bench.api.post('/api/payments', { gateway_id: 70, ...PAYMENT })).status).to.equal(
      201,
    )
    const [message] = eu.sent
    const webhook = { headers: message!.headers, body: Buffer.from(message!.body) }
    expect(await bench.door.receive(70, webhook)).to.equal('received')
    expect(await bench.door.receive(7, webhook)).to.equal('refused')
    expect(await bench.door.receive(1, webhook)).to.equal('unknown')
    await bench.pass(2)
    expect(usual.asked).to.deep.equal([])
    expect(eu.asked[0]).to.equal('POST /v1/payment_intents')
  })

  it('ask nobody about a payment whose id has got another kind since', async () => {
    const { usual, bench } = await startTwo(TWO)
    const { body } = await bench.api.post('/api/payments', { gateway_id: 7, ...PAYMENT })
    const asked: string[] = []
    const wallet = await serveSimulated((request) => {
      asked.push(request.path)
      return { status: 404, json: { name: 'RESOURCE_NOT_FOUND' } }
    })
    servers.push(wallet)
    const gateways: GatewayChoice[] = [{ id: 7, kind: 'wallet_checkout', party: undefined }]
    const wallet_checkout = { url: wallet.url, clientId: 'a', clientSecret: 'b', webhookId: 'c' }
    const users = bench.api
    const other = await startGateways({
      db,
      clock,
      users,
      parties: { gateways, usual: { wallet_checkout } },
    })
    const before = usual.asked.length
    await other.pass(3)
    expect([asked, usual.asked.slice(before)]).to.deep.equal([[], []])
    const url = `/api/payments/${String(body['transaction_id'])}/status`
    expect((await other.api.get(url)).body).to.include({ status: 'pending' })
  })

  it('send a transfer through the bank of its institution, and through no other', async () => {
    const asked: Record<string, string[]> = { usual: [], west: [] }
    const banks = new Map<string | undefined, Bank>()
    for (const name of ['usual', 'west']) {
      const account = { key: name, accountId: `account_${name}` }
      const now = () => clock.now().getTime()
      const bank = createSimulatedBank({ ...account, now, dayMs: DAY_MS })
      const server = await serveSimulated((request) => {
        asked[name]!.push(`${request.method} ${request.path}`)
        return bank(request)
      })
      servers.push(server)
      const settings = { ...account, url: server.url }
      banks.set(name === 'usual' ? undefined : name, createBank(settings))
    }
    const { rails } = parseConfig({
      QUITTANCE_INSTITUTIONS: '1=ach, 9=wire:west',
      QUITTANCE_BANK_KEY: 'usual',
      QUITTANCE_BANK_ACCOUNT: 'account_usual',
      QUITTANCE_BANK_KEY__WEST: 'west',
      QUITTANCE_BANK_ACCOUNT__WEST: 'account_west',
    })
    const institutions = institutionsOf(rails)
    const kick = () => undefined
    const randomBytes = (size: number) => Buffer.alloc(size, 7)
    const api = await startRailsApi(
      db,
      transferEndpoints({ institutions, randomBytes, clock: systemClock, kickWires: kick }),
    )
    await deposit(db, (await mainWallet(db, api.alice.id)).id, 100n * DOLLAR)
    const { body } = await api.get('/api/institutions')
    expect(body['institutions']).to.have.length(2)
    const recipient_info = { account_number: '987654321', routing_number: '101050001' }
    const transfer = { institution_id: 9, ...PAYMENT, recipient_info }
    expect((await api.post('/api/transfers', transfer)).status).to.equal(201)
    const railWith = (some: typeof banks) =>
      createWireRail({
        db,
        banks: some,
        clock,
        logger: createLogger({ level: 'silent' }),
        policy: WIRE_POLICY,
        onMoved: async () => undefined,
      })
    // Its bank is not configured here, and waits for a program that knows it.
    await railWith(new Map([[undefined, banks.get(undefined)!]])).pass(signal)
    expect(asked).to.deep.equal({ usual: [], west: [] })
    clock.advance(3_600_000)
    await railWith(banks).pass(signal)
    expect(asked['usual']).to.deep.equal([])
    expect(asked['west']).to.include('POST /wire_transfers')
    expect(await countRows(db, 'wires')).to.equal(1n)
  })
})
