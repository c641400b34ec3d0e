import { gzipSync } from 'node:zlib'

import { expect } from 'chai'

import { exchangeByFetch } from '../../../src/chain/rpc/http-fetch.ts'
import { exchangeByNode } from '../../../src/chain/rpc/http-node.ts'
import type { HttpAnswer, JsonExchange } from '../../../src/chain/rpc/http.ts'
import {
  startScriptedNode,
  type ScriptedAnswer,
  type ScriptedNode,
} from '../../fixtures/chain/scripted-node.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const GZIP = { 'content-encoding': 'gzip' }
const UPGRADE = { connection: 'upgrade', upgrade: 'websocket' }
/** More than what comes. */
const HALF = { 'content-length': '99' }
const LAST = { connection: 'close' }

const ways = { '`fetch`': exchangeByFetch, '`node:http`': exchangeByNode }
for (const [way, exchange] of Object.entries(ways)) {
  describe(`a request by ${way}`, () => {
    let node: ScriptedNode | undefined
    afterEach(async () => {
      await node?.stop()
      node = undefined
    })

    const ask = async (
      script: ScriptedAnswer | Promise<ScriptedAnswer>,
      options: Partial<JsonExchange> = {},
    ): Promise<HttpAnswer> => {
      await node?.stop()
      node = await startScriptedNode(() => script)
      const { url } = node
      return exchange({ url, json: {}, timeoutMs: 5000, maxAnswerBytes: 4999, ...options })
    }

    it('brings the status, the text and the wait that was asked for', async () => {
      expect(await ask({ status: 201, body: 'äöü' })).to.deep.equal({
        status: 201,
        ok: true,
        text: 'äöü',
        retryAfterMs: undefined,
      })
      const busy = { status: 503, headers: { 'retry-after': '2' }, body: 'busy' }
      const { status, ok, text, retryAfterMs } = await ask(busy)
      expect([status, ok, text, retryAfterMs]).to.deep.equal([503, false, 'busy', 2000])
      expect(await ask({ status: 429, headers: GZIP, body: '' })).to.include({
        status: 429,
        text: '',
      })
    })

    it('carries a name and a password as such, and no error quotes them', async () => {
      await ask({ body: '' })
      const { host } = new URL(node?.url ?? '')
      const url = `http://us%20er:p%C3%A4ss@${host}/`
      await exchange({ url, json: {}, timeoutMs: 5000, maxAnswerBytes: 1 })
      const basic = `Basic ${Buffer.from('us er:päss').toString('base64')}`
      expect(node?.headers().authorization).to.equal(basic)
      const bad = {
        ECONNREFUSED: 'http://us%20er:p%C3%A4ss@127.0.0.1:2',
        ERR_INVALID_URL: 'http://päss:@:nowhere',
      }
      for (const [reason, address] of Object.entries(bad)) {
        const failing = (): Promise<unknown> => ask({ body: '' }, { url: address })
        const { message, stack } = await expectFailure(failing, 'unreachable')
        expect(message).to.equal(reason)
        expect(stack).not.to.match(/p(ä|%C3%A4)ss/)
      }
    })

    it('says nothing to a server of https that does not speak TLS', async () => {
      await ask({ body: '' })
      const url = node!.url.replace('http:', 'https:')
      const asking = exchange({ url, json: {}, timeoutMs: 5000, maxAnswerBytes: 1 })
      const { message } = await expectFailure(() => asking, 'unreachable')
      expect(message).to.match(/^(EPROTO|ERR_SSL_)/)
      expect(node!.requests).to.have.lengthOf(1)
    })

    const faults: ReadonlyArray<[string, ScriptedAnswer]> = [
      ['a redirect', { status: 302, headers: { location: '/' }, body: 'moved' }],
      ['a change of protocol', { status: 101, headers: UPGRADE, body: '' }],
      ['a connection that ends before an answer', { body: undefined }],
      ['a connection that ends within an answer', { headers: { ...HALF, ...LAST }, body: '{' }],
      ['a broken archive', { headers: GZIP, body: 'no archive' }],
    ]
    for (const [what, script] of faults) {
      it(`takes ${what} for no answer`, async () => {
        await expectFailure(() => ask(script), 'unreachable')
      })
    }

    it('reads no more than it may, packed or not', async () => {
      const [enough, tooMuch] = ['x'.repeat(4999), 'x'.repeat(5000)]
      expect((await ask({ body: enough })).text).to.equal(enough)
      expect((await ask({ headers: GZIP, body: gzipSync(enough) })).text).to.equal(enough)
      expect(node?.headers()['accept-encoding']).to.include('gzip')
      const named = { headers: { 'content-encoding': 'X-GZIP' }, body: gzipSync('packed') }
      expect((await ask(named)).text).to.equal('packed')
      const larger: ScriptedAnswer[] = [
        { body: tooMuch },
        { headers: { 'transfer-encoding': 'chunked' }, body: tooMuch },
        { headers: GZIP, body: gzipSync(tooMuch) },
      ]
      for (const script of larger) await expectFailure(() => ask(script), 'answer_too_large')
    })

    const slow: ReadonlyArray<[string, () => ScriptedAnswer | Promise<ScriptedAnswer>]> = [
      ['before an answer', () => new Promise(() => undefined)],
      ['within an answer', () => ({ headers: HALF, body: '{' })],
    ]
    for (const [when, script] of slow) {
      it(`ends ${when} after its time, and when the caller says so`, async () => {
        await expectFailure(() => ask(script(), { timeoutMs: 50 }), 'timeout')
        const controller = new AbortController()
        const waiting = ask(script(), { signal: controller.signal })
        setTimeout(() => controller.abort(), 50)
        await expectFailure(() => waiting, 'aborted')
      })
    }

    it('asks nothing for a caller who has ended already', async () => {
      const signal = AbortSignal.abort()
      await expectFailure(() => ask({ body: '' }, { signal }), 'aborted')
      expect(node?.requests).to.deep.equal([])
    })
  })
}
