import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'

import { expect } from 'chai'

import { listen } from '../../src/api/server/listen.ts'
import { startApi, type Api, type ApiAnswer } from '../fixtures/api/api.ts'
import { echoEndpoints } from '../fixtures/api/endpoints.ts'

/** Nothing that comes in here may reach a handler, be answered with a stack or be logged. */
describe('bad input', () => {
  const calls: unknown[] = []
  let api: Api

  before(async () => {
    api = await startApi({ endpoints: echoEndpoints(calls) })
  })

  after(() => api.close())

  beforeEach(() => calls.splice(0))

  const post = (body: string | Buffer, headers: Record<string, string> = {}): Promise<ApiAnswer> =>
    api.send({ method: 'POST', url: '/api/echo', body, headers })

  const expectRefused = (
    answer: ApiAnswer,
    wanted: { status: number; code: string; field?: string; detail?: string },
  ): void => {
    expect(answer.status, answer.text).to.equal(wanted.status)
    expect(answer.body).to.include({ success: false, code: wanted.code })
    if (wanted.field !== undefined) {
      expect(answer.body['details']).to.have.nested.property('[0].field', wanted.field)
    }
    if (wanted.detail !== undefined) {
      expect(answer.body['details']).to.have.nested.property('[0].code', wanted.detail)
    }
    expect(answer.text).not.to.match(/\bat .*\(|\.ts:\d|node_modules|node:internal/)
    expect(calls).to.deep.equal([])
  }

  const amounts: ReadonlyArray<[string, string]> = [
    ['1e2', 'amount_not_decimal'],
    ['1E+2', 'amount_not_decimal'],
    ['1e-18', 'amount_not_decimal'],
    ['-0', 'amount_not_decimal'],
    ['-1', 'amount_not_decimal'],
    ['0', 'amount_not_positive'],
    ['0.000', 'amount_not_positive'],
    ['1.0000000000000000001', 'amount_not_decimal'],
    [`1${'0'.repeat(400)}`, 'amount_too_large'],
    ['1e400', 'amount_not_decimal'],
    ['null', 'amount_not_decimal'],
    ['true', 'amount_not_decimal'],
    ['[1]', 'amount_not_decimal'],
    ['{"rawJSON":"1"}', 'amount_not_decimal'],
    ['""', 'amount_not_decimal'],
    ['"NaN"', 'amount_not_decimal'],
    ['"Infinity"', 'amount_not_decimal'],
    ['" 1"', 'amount_not_decimal'],
    ['"1 "', 'amount_not_decimal'],
    ['"1\\n"', 'amount_not_decimal'],
    ['"1\\u00a0"', 'amount_not_decimal'],
    ['"１２"', 'amount_not_decimal'],
    ['"1e2"', 'amount_not_decimal'],
    ['"-0"', 'amount_not_decimal'],
    ['"+1"', 'amount_not_decimal'],
    ['"01"', 'amount_not_decimal'],
    ['"0x1"', 'amount_not_decimal'],
    ['"1,000"', 'amount_not_decimal'],
  ]
  for (const [amount, detail] of amounts) {
    it(`refuses the amount ${amount.slice(0, 24)}`, async () => {
      const answer = await post(`{"amount":${amount},"currency":"ETH"}`)
      expectRefused(answer, { status: 400, code: 'invalid_request', field: 'amount', detail })
    })
  }

  const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`
  const bodies: ReadonlyArray<[string, string | Buffer, string, string]> = [
    ['NaN as a number', '{"amount":NaN}', 'body', 'malformed_json'],
    ['a full-width number', '{"amount":１}', 'body', 'malformed_json'],
    ['half a document', '{"amount":1', 'body', 'malformed_json'],
    ['nothing but a space', ' ', 'body', 'malformed_json'],
    ['a byte order mark', '\ufeff{"amount":1}', 'body', 'malformed_json'],
    ['Latin-1', Buffer.from('{"description":"\xe9"}', 'latin1'), 'body', 'malformed_text'],
    ['UTF-16', Buffer.from('{"amount":1}', 'utf16le'), 'body', 'malformed_json'],
    ['deep JSON', deep, 'a.a.a', 'too_deep'],
    ['deep arrays', '['.repeat(32_000), '0.0.0', 'too_deep'],
    ['a key twice', '{"amount":1,"currency":"USD","amount":2}', 'amount', 'duplicate_key'],
    [
      'a key twice, deep',
      '{"amount":1,"currency":"USD","metadata":{"a":"1","a":"2"}}',
      'metadata.a',
      'duplicate_key',
    ],
    ['__proto__', '{"__proto__":{"amount":1},"currency":"USD"}', '__proto__', 'forbidden_key'],
    [
      'constructor',
      '{"metadata":{"constructor":{"prototype":{"x":1}}}}',
      'metadata.constructor',
      'forbidden_key',
    ],
    [
      'U+0000',
      '{"amount":1,"currency":"USD","description":"\\u0000"}',
      'description',
      'bad_character',
    ],
    ['a field too many', '{"amount":1,"currency":"USD","admin":true}', 'admin', 'unknown_field'],
    [
      'toString as a field',
      '{"amount":1,"currency":"USD","toString":1}',
      'toString',
      'unknown_field',
    ],
    ['a field too few', '{"amount":1}', 'currency', 'required'],
    ['an array', '[{"amount":1,"currency":"USD"}]', 'body', 'type'],
    ['null', 'null', 'body', 'type'],
    ['a number', '1.5', 'body', 'type'],
    ['a string', '"amount"', 'body', 'type'],
    ['a number for an object', '{"amount":1,"currency":"USD","metadata":1.5}', 'metadata', 'type'],
    [
      'a number for a text',
      '{"amount":1,"currency":"USD","description":1e9}',
      'description',
      'type',
    ],
    [
      'a number in an object',
      '{"amount":1,"currency":"USD","metadata":{"a":0.1}}',
      'metadata.a',
      'type',
    ],
    [
      'a key of another form',
      '{"amount":1,"currency":"USD","metadata":{"order id":"1"}}',
      'metadata.order id',
      'unknown_field',
    ],
    [
      'null for an optional field',
      '{"amount":1,"currency":"USD","description":null}',
      'description',
      'type',
    ],
    [
      'an empty description',
      '{"amount":1,"currency":"USD","description":""}',
      'description',
      'minLength',
    ],
    ['lower case', '{"amount":1,"currency":"usd"}', 'currency', 'enum'],
  ]
  for (const [name, body, field, detail] of bodies) {
    it(`refuses ${name} as the body`, async () => {
      const answer = await post(body)
      expectRefused(answer, { status: 400, code: 'invalid_request', field, detail })
      expect(answer.headers).not.to.have.property('connection', 'close')
    })
  }

  it('refuses a POST without a body', async () => {
    const answer = await api.send({ method: 'POST', url: '/api/echo' })
    const wanted = { status: 400, code: 'invalid_request', field: 'body', detail: 'required' }
    expectRefused(answer, wanted)
  })

  it('names every field that is wrong', async () => {
    const answer = await post('{"amount":"x","currency":"XXX","a":1,"b":2}')
    const details = answer.body['details'] as Array<{ field: string }>
    expect(details.map((one) => one.field).toSorted()).to.deep.equal([
      'a',
      'amount',
      'b',
      'currency',
    ])
  })

  it('takes a body of 64 KB and refuses one byte more', async () => {
    const body = '{"amount":1,"currency":"USD"}'
    expect((await post(body.padEnd(65_536))).status).to.equal(201)
    calls.splice(0)
    expectRefused(await post(body.padEnd(65_537)), { status: 413, code: 'body_too_large' })
  })

  const types = [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json\t',
    'application/json;\tcharset=utf-8',
    'application/json\t; charset=utf-8',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; boundary=x',
    'application/jsonp',
    'application/problem+json',
    'application/json, text/plain',
    ';',
    '',
  ]
  for (const type of types) {
    it(`refuses the content type ${JSON.stringify(type)}`, async () => {
      const answer = await post('{"amount":1,"currency":"USD"}', { 'content-type': type })
      expectRefused(answer, { status: 415, code: 'unsupported_media_type' })
    })
  }

  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
  ]) {
    it(`takes the content type ${type}`, async () => {
      const answer = await post('{"amount":1,"currency":"USD"}', { 'content-type': type })
      expect(answer.status).to.equal(201)
    })
  }

  it('refuses a compressed body', async () => {
    const answer = await post('{"amount":1,"currency":"USD"}', { 'content-encoding': 'gzip' })
    expectRefused(answer, { status: 415, code: 'unsupported_media_type' })
  })

  const queries: ReadonlyArray<[string, string, string]> = [
    ['start_date=2025-02-30', 'query.start_date', 'format'],
    ['start_date=2025-02-29', 'query.start_date', 'format'],
    ['end_date=2025-13-01', 'query.end_date', 'format'],
    ['end_date=2025-1-1', 'query.end_date', 'format'],
    ['end_date=0000-01-01', 'query.end_date', 'pattern'],
    ['end_date=', 'query.end_date', 'format'],
    ['end_date=2025-01-01T00:00:00Z', 'query.end_date', 'format'],
    ['limit=0', 'query.limit', 'minimum'],
    ['limit=-1', 'query.limit', 'minimum'],
    ['limit=1.5', 'query.limit', 'type'],
    ['limit=1e1', 'query.limit', 'type'],
    ['limit=%201', 'query.limit', 'type'],
    ['limit=+1', 'query.limit', 'type'],
    ['limit=01', 'query.limit', 'type'],
    ['limit=-0', 'query.limit', 'type'],
    ['limit=', 'query.limit', 'type'],
    ['limit=%EF%BC%91', 'query.limit', 'type'],
    ['limit=10&limit=20', 'query.limit', 'duplicate_key'],
    ['offset=1000001', 'query.offset', 'maximum'],
    ['offset=-1', 'query.offset', 'minimum'],
    ['type=Payment', 'query.type', 'enum'],
    ['status=done', 'query.status', 'enum'],
    ['statuss=failed', 'query.statuss', 'unknown_field'],
    ['__proto__=x', 'query.__proto__', 'unknown_field'],
    ['constructor=x', 'query.constructor', 'unknown_field'],
    ['limit[]=1', 'query.limit[]', 'unknown_field'],
    ['cursor=%00', 'query.cursor', 'pattern'],
  ]
  for (const [query, field, detail] of queries) {
    it(`refuses the query ${query}`, async () => {
      const answer = await api.send({ url: `/api/echo?${query}` })
      expectRefused(answer, { status: 400, code: 'invalid_request', field, detail })
    })
  }

  it('refuses a query where there are no parameters', async () => {
    const answer = await api.send({ url: '/api/echo/TX1?limit=1' })
    const wanted = { field: 'query.limit', detail: 'unknown_field' }
    expectRefused(answer, { status: 400, code: 'invalid_request', ...wanted })
  })

  for (const id of ['TX%00', '%F0%9F%92%B0', "TX1'--", 'TX%2F1', '..%2f..%2fetc', 'x'.repeat(65)]) {
    it(`refuses the id ${id.slice(0, 16)}`, async () => {
      const answer = await api.send({ url: `/api/echo/${id}` })
      const wanted = { field: 'path.transaction_id', detail: 'pattern' }
      expectRefused(answer, { status: 400, code: 'invalid_request', ...wanted })
    })
  }

  for (const url of ['/api/echo/%zz', '/api/echo/%ff', '/api/%']) {
    it(`refuses the path ${url}`, async () => {
      expectRefused(await api.send({ url }), { status: 400, code: 'invalid_request' })
    })
  }

  it('shows no secret in a log, whatever is wrong', async () => {
    const canary = 'CANARY-7f3a'
    const headers = { authorization: `Bearer ${canary}`, cookie: canary }
    await post(`{"amount":"${canary}","currency":"${canary}"}`, headers)
    await post(`{"password":"${canary}" oops}`, headers)
    await post(`{"${canary}":1,"${canary}":2}`, headers)
    await post(canary, { ...headers, 'content-type': canary })
    await api.send({ url: `/api/echo?cursor=${canary}&token=${canary}`, headers })
    await api.send({ url: `/api/${canary}`, headers })
    await api.send({ url: `/v1/failure`, headers })
    await api.send({ url: '/api/echo', headers: { ...headers, 'x-api-key': canary } })
    expect(api.log()).to.include('answered')
    expect(api.log()).not.to.include(canary)
  })
})

describe('a connection', () => {
  let api: Api
  let port: number

  before(async () => {
    const server = { requestTimeoutMs: 300 }
    api = await startApi({ endpoints: echoEndpoints(), server })
    port = Number(
      new URL(await listen(api.server, { host: '127.0.0.1', port: 0, variable: 'PORT' })).port,
    )
  })

  after(() => api.close())

  it('whose body trickles in is cut off with 408', async () => {
    const head = 'POST /api/echo HTTP/1.1\r\nhost: x\r\nx-api-key: test\r\n'
    const type = 'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{'
    const answer = await talk(port, `${head}${type}`)
    expect(answer).to.match(/^HTTP\/1\.1 408 /)
    expectFailure(answer, 'request_timeout')
  })

  it('whose headers trickle in is cut off with 408', async () => {
    const answer = await talk(port, 'GET /api/echo HTTP/1.1\r\nhost: x\r\n')
    expect(answer).to.match(/^HTTP\/1\.1 408 /)
  })

  it('whose headers have no end is refused with 431', async () => {
    const answer = await talk(port, `GET / HTTP/1.1\r\nx: ${'a'.repeat(20_000)}`)
    expect(answer).to.match(/^HTTP\/1\.1 431 /)
    expectFailure(answer, 'headers_too_large')
  })

  it('that does not speak HTTP is refused with 400', async () => {
    const answer = await talk(port, 'hello\r\n\r\n')
    expect(answer).to.match(/^HTTP\/1\.1 400 /)
    expectFailure(answer, 'invalid_request')
  })

  it('that has two lengths is refused with 400', async () => {
    const lengths = 'content-length: 3\r\ntransfer-encoding: chunked\r\n'
    const answer = await talk(port, `POST /api/echo HTTP/1.1\r\nhost: x\r\n${lengths}\r\n0\r\n\r\n`)
    expect(answer).to.match(/^HTTP\/1\.1 400 /)
  })

  it('that sends 64 KB and more in chunks is refused with 413', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { 'x-api-key': 'test', 'content-type': 'application/json' }
      const options = { port, method: 'POST', path: '/api/echo', headers }
      const request = httpRequest(options, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', reject)
      request.write(' '.repeat(65_536))
      request.end(' ')
    })
    expect(status).to.equal(413)
  })
})

/** Says the bytes, and hears until the other side hangs up. */
function talk(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let heard = ''
    socket.on('data', (chunk) => (heard += chunk.toString()))
    socket.on('error', reject)
    socket.on('close', () => resolve(heard))
  })
}

function expectFailure(answer: string, code: string): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(JSON.parse(body)).to.include({ success: false, code })
  expect(head).to.match(/x-request-id: [0-9a-f-]{36}/)
}
