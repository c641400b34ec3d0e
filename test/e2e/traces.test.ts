import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { makeKey, makeUser } from '../fixtures/api/access.ts'
import { startReceiver } from '../fixtures/api/receiver.ts'
import { startCollector, type CollectedSpan, type Collector } from '../fixtures/collector.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { freePort } from '../fixtures/free-port.ts'
import { runProgram, runToEnd, type Program } from '../fixtures/program.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`
const PAYMENT = {
  to_address: `0x${'0'.repeat(38)}aa`,
  amount: '0.1',
  description: 'to be followed',
}

/** Says which packages of OpenTelemetry are loaded; a clone's bundle has only the first one. */
const SHOW_LOADS = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(name, context, next) {
      if (name.startsWith('@opentelemetry/')) console.error('loads ' + name)
      return next(name, context)
    },
  })
`

type Created = { transaction_id: string; eth_transaction_hash: string }

describe('traces', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let collector: Collector
  const programs: Program[] = []

  const open = async (): Promise<void> => {
    folder = temporaryFolder()
    collector = await startCollector()
  }

  const close = async (): Promise<void> => {
    await Promise.all(programs.splice(0).map((program) => stop(program)))
    await collector.close()
    folder.remove()
  }

  const stop = async (program: Program): Promise<void> => {
    program.kill('SIGTERM')
    await program.ended
  }

  const run = (role: string, env: Record<string, string>): Program => {
    const program = runProgram([role], {
      PORT: '0',
      QUITTANCE_LOG_LEVEL: 'info',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      ...env,
    })
    programs.push(program)
    return program
  }

  const up = async (env: Record<string, string> = {}) => {
    const data = join(folder.path, 'data')
    fillDataFolder(data)
    const hooks = join(folder.path, 'hooks.mjs')
    writeFileSync(hooks, SHOW_LOADS)
    const shown = { NODE_OPTIONS: `--import ${hooks}` }
    const program = run('up', { QUITTANCE_DATA: data, QUITTANCE_BLOCK_MS: '100', ...shown, ...env })
    const { url = '', groupB, groupA } = await program.untilReady()
    return { program, url, keyA: groupA?.apiKey ?? '', key: groupB?.apiKey ?? '' }
  }

  const ask = (url: string, { key = '', headers = {}, body }: Asking) =>
    fetch(url, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })

  const pay = async (url: string, key: string, headers: Record<string, string> = {}) => {
    const answer = await ask(`${url}/api/blockchain/transactions`, { key, headers, body: PAYMENT })
    expect(answer.status).to.equal(201)
    return { headers: answer.headers, paid: (await answer.json()) as Created }
  }

  const untilCompleted = (url: string, key: string, { transaction_id: id }: Created) =>
    until(async () => {
      const answer = await ask(`${url}/api/transactions/${id}`, { key })
      return ((await answer.json()) as { status: string }).status === 'completed'
    })

  const linesOf = (program: Program): Array<Record<string, unknown>> =>
    program
      .output()
      .stderr.split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  const named = (name: string, trace = TRACE): CollectedSpan => {
    const found = collector.spans.filter((span) => span.traceId === trace && span.name === name)
    expect(found, `spans called ${name}`).to.have.length(1)
    return found[0]!
  }

  /** From the request to the receipt, whichever processes have made the spans. */
  const expectWhole = ({ transaction_id: id, eth_transaction_hash: hash }: Created): void => {
    const request = named('POST /api/blockchain/transactions')
    expect(request).to.include({ parentSpanId: CALLER, kind: 2, isFailed: false })
    expect(request.attributes).to.include({
      'http.request.method': 'POST',
      'http.route': '/api/blockchain/transactions',
      'http.response.status_code': 201,
    })
    expect(named('prepare').parentSpanId).to.equal(request.spanId)
    const accept = named('accept')
    expect(accept.parentSpanId).to.equal(request.spanId)
    expect(accept.attributes).to.include({ 'quittance.subject': id })
    const steps = ['submit', 'mined', 'final'].map((name) => named(name))
    for (const step of steps) {
      expect(step).to.include({ parentSpanId: accept.spanId, isFailed: false })
      expect(step.attributes).to.include({
        'quittance.subject': id,
        'quittance.transaction.hash': hash,
        'quittance.chain_id': 31_337,
      })
      expect(step.endMs).to.be.at.least(step.startMs)
      expect(step.startMs).to.be.at.least(accept.startMs - 1)
    }
    const [submit, mined, final] = steps
    expect(submit?.attributes).to.include({ 'quittance.answer': 'accepted' })
    for (const step of [mined, final]) {
      expect(step?.attributes['quittance.block.number']).to.be.greaterThan(0)
      expect(step?.attributes['quittance.block.hash']).to.match(/^0x[\da-f]{64}$/)
      expect(step?.attributes['quittance.gas_used']).to.equal(21_000)
    }
    expect(final?.attributes).to.include({ 'quittance.state': 'completed' })
  }

  describe('of a program that runs', () => {
    let app: Awaited<ReturnType<typeof up>>

    before(async () => {
      await open()
      app = await up({
        OTEL_SERVICE_NAME: 'payouts',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-team=se%20cret',
      })
    })
    after(close)

    /** Spans arrive in the order in which they end, so that of one more request is the last. */
    const sent = async (): Promise<void> => {
      const trace = randomBytes(16).toString('hex')
      const headers = { traceparent: `00-${trace}-${CALLER}-01` }
      await ask(`${app.url}/nowhere`, { headers })
      await until(async () => collector.spans.some(({ traceId }) => traceId === trace))
    }

    it('follow a payment from the request to the receipt, in the trace of its caller', async () => {
      const { program, url, key } = app
      const { headers, paid } = await pay(url, key, { traceparent: TRACEPARENT })
      await untilCompleted(url, key, paid)
      await sent()

      expectWhole(paid)
      expect(named('final').resource).to.include({
        'service.name': 'payouts',
        'quittance.role': 'up',
        'deployment.environment.name': 'sandbox',
      })
      expect(collector.headers[0]).to.include({ 'x-team': 'se cret' })
      expect(program.output().stderr).to.include('loads @opentelemetry/sdk-trace')
      expect(headers.get('x-trace-id')).to.equal(TRACE)
      const lines = linesOf(program).filter(({ trace_id: id }) => id === TRACE)
      expect(lines.map(({ msg }) => msg)).to.deep.equal(['answered', 'an order has ended'])
      expect(lines[0]).to.include({ requestId: headers.get('x-request-id'), status: 201 })
      const { transaction_id: subject, eth_transaction_hash: hash } = paid
      expect(lines[1]).to.include({ subject, hash, state: 'completed' })
    })

    it('follow the orders of a batch and of a mint as well', async () => {
      const { url, key, keyA } = app
      const traces = [TRACE.replace(/.$/, 'a'), TRACE.replace(/.$/, 'b')]
      const headersOf = (trace: string) => ({ traceparent: `00-${trace}-${CALLER}-01` })
      const destination = { type: 'blockchain', chain: 'ETH', address: PAYMENT.to_address }
      const [batch, mint] = await Promise.all([
        ask(`${url}/api/blockchain/batches`, {
          key,
          headers: headersOf(traces[0]!),
          body: { items: [PAYMENT, PAYMENT] },
        }),
        ask(`${url}/v1/businessAccount/transfers`, {
          key: keyA,
          headers: headersOf(traces[1]!),
          body: { amount: '10.00', destination },
        }),
      ])
      expect([batch.status, mint.status]).to.deep.equal([201, 201])
      const finals = () =>
        collector.spans.filter(({ traceId, name }) => traces.includes(traceId) && name === 'final')
      await until(async () => finals().length === 2)
      await sent()

      for (const trace of traces) {
        const spans = collector.spans.filter(({ traceId }) => traceId === trace)
        const [request] = spans.filter(({ parentSpanId }) => parentSpanId === CALLER)
        const accept = spans.find(({ name }) => name === 'accept')
        expect(accept?.parentSpanId).to.equal(request?.spanId)
        const steps = spans.filter(({ parentSpanId }) => parentSpanId === accept?.spanId)
        expect(steps.map(({ name }) => name)).to.include.members(['submit', 'mined', 'final'])
        const final = steps.find(({ name }) => name === 'final')
        expect(final?.attributes).to.include({ 'quittance.state': 'completed' })
      }
    })

    it('begin with us where the caller has none, and answer what fails as well', async () => {
      const { url } = app
      const answers = await Promise.all([
        ask(`${url}/api/transactions?limit=1`, { headers: { traceparent: `${TRACEPARENT}-more` } }),
        ask(`${url}/nowhere?secret=1`, {}),
      ])
      const probe = await fetch(`${url}/healthz`)
      await sent()

      const ids = answers.map(({ headers }) => headers.get('x-trace-id'))
      for (const id of ids)
        expect(id)
          .to.match(/^[\da-f]{32}$/)
          .and.not.to.equal(TRACE)
      const spans = ids.map((id) => collector.spans.filter(({ traceId }) => traceId === id))
      expect(spans.map((some) => some.map(({ name }) => name))).to.deep.equal([
        ['GET /api/transactions'],
        ['GET'],
      ])
      const [refused, missed] = spans.flat()
      expect(refused?.attributes).to.include({ 'http.response.status_code': 401 })
      expect(missed?.attributes).to.include({ 'http.response.status_code': 404 })
      expect(JSON.stringify(collector.spans)).not.to.include('nowhere')
      expect(probe.headers.has('x-trace-id')).to.equal(false)
      expect(collector.spans.some(({ name }) => name.includes('healthz'))).to.equal(false)
    })

    it('go on to the webhooks about a withdrawal, whose receiver gets its place', async () => {
      const { url, keyA: key } = app
      const trace = TRACE.replace(/.$/, 'c')
      const receiver = await startReceiver()
      const subscription = {
        url: receiver.url,
        subscriptionDetails: [{ url: receiver.url, notificationType: 'transfers' }],
      }
      await ask(`${url}/v1/notifications/subscriptions`, { key, body: subscription })
      await until(async () => receiver.received.length > 0)
      const wallets = await ask(`${url}/v1/wallets`, { key })
      const { data } = (await wallets.json()) as { data: Array<{ walletId: string }> }
      const answer = await ask(`${url}/v1/transfers`, {
        key,
        headers: { traceparent: `00-${trace}-${CALLER}-01` },
        body: {
          source: { type: 'wallet', id: data[0]?.walletId },
          destination: { type: 'blockchain', address: PAYMENT.to_address, chain: 'ETH' },
          amount: '12.34',
        },
      })
      expect(answer.status).to.equal(201)
      await until(async () => receiver.received.some(({ body }) => body.includes('"complete"')))
      // The watch over the supply may see the mint final before the sender does.
      await until(async () =>
        collector.spans.some(({ traceId, name }) => traceId === trace && name === 'final'),
      )
      await sent()
      await receiver.close()

      const accept = named('accept', trace)
      const inTrace = collector.spans.filter(({ traceId }) => traceId === trace)
      expect(named('final', trace).parentSpanId).to.equal(accept.spanId)
      const tries = inTrace.filter(({ name }) => name === 'deliver webhook')
      const told = receiver.received.filter(({ body }) => body.includes('"transfers"'))
      expect(told.length).to.be.greaterThan(1)
      expect(told.map(({ headers }) => headers['traceparent'])).to.have.members(
        tries.map(({ spanId }) => `00-${trace}-${spanId}-01`),
      )
      for (const one of tries) {
        expect(one).to.include({ parentSpanId: accept.spanId, kind: 3, isFailed: false })
        expect(one.attributes).to.include({ 'http.response.status_code': 204 })
      }
    })
  })

  describe('of a program by itself', () => {
    beforeEach(open)
    afterEach(close)

    it('change nothing where the collector is away, and say so once', async () => {
      const port = await freePort()
      const { program, url, key } = await up({
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      })
      const { headers, paid } = await pay(url, key, { traceparent: TRACEPARENT })
      await untilCompleted(url, key, paid)
      const dropped = async (): Promise<number> => {
        const metrics = await (await fetch(`${url}/metrics`)).text()
        return Number(
          /^quittance_trace_spans_total\{outcome="dropped"\} (\d+)$/m.exec(metrics)?.[1],
        )
      }
      await until(async () => (await dropped()) > 3)
      await pay(url, key)
      const before = await dropped()
      await until(async () => (await dropped()) > before)
      expect(headers.get('x-trace-id')).to.equal(TRACE)
      const stoppedAt = performance.now()
      await stop(program)
      expect(performance.now() - stoppedAt).to.be.below(8000)
      expect(await program.ended).to.equal(0)
      const warnings = linesOf(program).filter(({ msg }) => String(msg).startsWith('spans are'))
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.include({ level: 'warn', collector: `127.0.0.1:${port}` })
    })

    it('are off without a collector: no header, no field in the log, no row', async () => {
      const { program, url, key } = await up({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })
      const { headers, paid } = await pay(url, key, { traceparent: TRACEPARENT })
      await untilCompleted(url, key, paid)
      const metrics = await (await fetch(`${url}/metrics`)).text()
      await stop(program)

      expect(headers.has('x-trace-id')).to.equal(false)
      expect(metrics).not.to.include('quittance_trace')
      expect(program.output().stderr).not.to.include('loads')
      expect(program.output().stderr).to.include('answered').and.not.to.include('trace_id')
      const database = await openDatabase({ folder: join(folder.path, 'data', 'database') })
      const { rows } = await sql`select * from traces`.execute(database.db)
      await database.close()
      expect(rows).to.deep.equal([])
      expect(collector.spans).to.deep.equal([])
    })

    // Processes can only share a server.
    if (process.env['DATABASE_URL'] !== undefined) {
      it('go on in another process, after the one that answered has ended', async () => {
        const chain = await startChain(folder.path)
        const url = (await emptyDatabaseUrl()) ?? ''
        const shared = { DATABASE_URL: url, ETH_RPC_URL: chain.url, QUITTANCE_CONFIRMATIONS: '2' }
        expect(await runToEnd(['migrate'], { ...shared })).to.include({ code: 0 })
        const database = await openDatabase({ url })
        const { text: key } = await makeKey(database.db, { user: await makeUser(database.db) })
        const serve = run('serve', { ...shared, QUITTANCE_DATA: join(folder.path, 'serve') })
        const { url: api = '' } = await serve.untilReady()
        const purse = await ask(`${api}/api/blockchain/balance`, { key })
        const { address } = (await purse.json()) as { address: string }
        const params = [address, '0xde0b6b3a7640000']
        await callRpc({ url: chain.url, method: 'anvil_setBalance', params })
        const { paid } = await pay(api, key, { traceparent: TRACEPARENT })
        await stop(serve)
        const work = run('work', { ...shared, QUITTANCE_DATA: join(folder.path, 'work') })
        await until(async () => {
          const { rows } = await sql<{ state: string }>`select state from orders`.execute(
            database.db,
          )
          return rows[0]?.state === 'completed'
        })
        await stop(work)
        await database.close()
        await chain.stop()

        expectWhole(paid)
        const roles = ['accept', 'submit', 'final'].map((name) => named(name).resource)
        expect(roles.map((one) => one['quittance.role'])).to.deep.equal(['serve', 'work', 'work'])
        const lines = linesOf(work).filter(({ trace_id: id }) => id === TRACE)
        expect(lines).to.have.length(1)
      })
    }
  })
})

type Asking = { key?: string; headers?: Record<string, string>; body?: object }

function startChain(folder: string): Promise<EmbeddedChain> {
  return startAnvil({
    folder: join(folder, 'chain'),
    blockMs: 100,
    mnemonic: 'test test test test test test test test test test test junk',
  })
}
