import { expect } from 'chai'

import { systemClock } from '../../src/base/clock.ts'
import type { Address } from '../../src/webhooks/address.ts'
import { createSend, type SendRequest, type SendResult } from '../../src/webhooks/send.ts'
import { createTargets, type Resolve } from '../../src/webhooks/targets.ts'
import {
  hang,
  startRawServer,
  startReceiver,
  status,
  type Receiver,
} from '../fixtures/api/receiver.ts'

const LOCAL: Address = { address: '127.0.0.1', family: 4 }

describe('a webhook request', () => {
  let receiver: Receiver

  beforeEach(async () => {
    receiver = await startReceiver()
  })

  afterEach(() => receiver.close())

  const send = (
    options: { resolve?: Resolve; timeoutMs?: number } & Partial<SendRequest> = {},
  ): Promise<SendResult> => {
    const { resolve = async () => [LOCAL], timeoutMs = 5000, ...request } = options
    const targets = createTargets({ environment: 'sandbox', host: '127.0.0.1', resolve })
    return createSend({ targets, clock: systemClock, timeoutMs })({
      url: receiver.url,
      headers: { 'webhook-id': 'n-1' },
      body: '{}',
      signal: new AbortController().signal,
      ...request,
    })
  }

  const named = () => `http://app.localhost:${receiver.port}/hook`

  it('connects to the address that was checked, under the name that was given', async () => {
    let asked = 0
    const resolve: Resolve = async (name) => {
      asked += 1
      // Whoever asks a second time, as the connection would, gets an address inside.
      return name === 'app.localhost' && asked === 1 ? [LOCAL] : [{ ...LOCAL, address: '10.0.0.1' }]
    }
    expect(await send({ url: named(), resolve })).to.include({ outcome: 'delivered', status: 204 })
    expect(asked).to.equal(1)
    const [one] = receiver.received
    expect(one!.headers.host).to.equal(`app.localhost:${receiver.port}`)
    expect(await send({ url: named(), resolve })).to.include({
      outcome: 'forbidden',
      status: null,
      error: 'address_forbidden',
    })
    expect(receiver.received).to.have.length(1)
  })

  it('goes nowhere when one of the addresses is forbidden', async () => {
    const resolve: Resolve = async () => [LOCAL, { address: '169.254.169.254', family: 4 }]
    expect((await send({ url: named(), resolve })).outcome).to.equal('forbidden')
    expect(receiver.received).to.deep.equal([])
  })

  it('tries the next address when the first does not answer', async () => {
    const resolve: Resolve = async () => [{ address: '::1', family: 6 }, LOCAL]
    expect((await send({ url: named(), resolve })).outcome).to.equal('delivered')
  })

  it('ends in time when the name server hangs', async () => {
    const resolve: Resolve = () => new Promise(() => undefined)
    const { outcome, durationMs } = await send({ url: named(), resolve, timeoutMs: 50 })
    expect(outcome).to.equal('timed_out')
    expect(durationMs).to.be.greaterThan(40)
  })

  it('says what was wrong where there was no answer', async () => {
    const errors = []
    for (const url of [
      'http://127.0.0.1:1/',
      'http://[::1]:1/',
      `https://127.0.0.1:${receiver.port}/`,
    ]) {
      const { outcome, error } = await send({ url })
      errors.push([outcome, error])
    }
    expect(errors[0]).to.deep.equal(['unreachable', 'ECONNREFUSED'])
    expect(errors[1]?.[0]).to.equal('unreachable')
    expect(errors[2]).to.deep.equal(['unreachable', 'EPROTO'])
  })

  it('reads no more of an answer than it counts, and waits for no end of it', async () => {
    receiver.answer((response) => {
      response.writeHead(200)
      const flood = setInterval(() => response.write('x'.repeat(1000)), 1)
      response.on('close', () => clearInterval(flood))
    })
    const begunAt = performance.now()
    const endless = await send()
    // It has read enough long before its patience with a body is over.
    expect(performance.now() - begunAt).to.be.below(1000)
    expect([endless.outcome, endless.answerBytes]).to.deep.equal(['delivered', 1024])
    receiver.answer((response) => void response.writeHead(202).write('half'))
    expect(await send()).to.include({ outcome: 'delivered', status: 202, answerBytes: 4 })
  })

  it('tells how long an answer was, and nothing of what it said', async () => {
    receiver.answer((response) => void response.writeHead(500).end('the secret of another program'))
    const result = await send()
    expect(result).to.include({ outcome: 'refused', status: 500, answerBytes: 29 })
    expect(JSON.stringify(result)).not.to.include('secret')
  })

  it('takes what is no status of HTTP for no answer', async () => {
    for (const [line, error] of [
      ['HTTP/1.1 000 Nothing', 'status_invalid'],
      ['HTTP/1.1 099 Almost', 'status_invalid'],
      ['HTTP/1.1 600 Beyond', 'status_invalid'],
      ['HTTP/1.1 999 Far beyond', 'status_invalid'],
      ['HTTP/1.1 abc', 'HPE_INVALID_STATUS'],
      ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade', 'no_answer'],
      ['220 mail.example ESMTP', undefined],
    ] as const) {
      const raw = await startRawServer(`${line}\r\nContent-Length: 2\r\n\r\nok`)
      const result = await send({ url: raw.url, timeoutMs: 1000 })
      await raw.close()
      expect(result, line).to.include({ status: null, answerBytes: null })
      expect(result.outcome, line).to.equal('unreachable')
      if (error !== undefined) expect(result.error, line).to.equal(error)
    }
  })

  it('reads Retry-After in seconds and as a date, and nothing else', async () => {
    const waits = []
    for (const header of [
      '120',
      new Date(Date.now() + 60_000).toUTCString(),
      '-5',
      'soon',
      '1e9',
    ]) {
      receiver.answer(status(503, { 'retry-after': header }))
      waits.push((await send()).retryAfterMs)
    }
    expect(waits[0]).to.equal(120_000)
    expect(waits[1]).to.be.within(40_000, 60_000)
    expect(waits.slice(3)).to.deep.equal([undefined, undefined])
  })

  it('rejects when the program stops, and only then', async () => {
    receiver.answer(hang)
    const controller = new AbortController()
    const sent = send({ signal: controller.signal }).then(
      () => 'a result',
      () => 'stopped',
    )
    while (receiver.received.length === 0) await new Promise((later) => setTimeout(later, 5))
    controller.abort()
    expect(await sent).to.equal('stopped')
  })
})
