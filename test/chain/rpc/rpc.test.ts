import { expect } from 'chai'

import type { RpcError } from '../../../src/chain/rpc/rpc-error.ts'
import { callRpc, callRpcBatch, type RpcRequest } from '../../../src/chain/rpc/rpc.ts'
import {
  startScriptedNode,
  type ScriptedAnswer,
  type ScriptedNode,
} from '../../fixtures/chain/scripted-node.ts'
import { expectFailure } from '../../fixtures/errors.ts'

describe('a JSON-RPC call', () => {
  let node: ScriptedNode | undefined
  afterEach(async () => {
    await node?.stop()
    node = undefined
  })

  const answering = async (script: ScriptedAnswer | (() => Promise<ScriptedAnswer>)) => {
    await node?.stop()
    node = await startScriptedNode(() => (typeof script === 'function' ? script() : script))
    return node
  }
  const call = async (script: ScriptedAnswer, options: Partial<RpcRequest> = {}) => {
    const { url } = await answering(script)
    return callRpc({ url, method: 'eth_blockNumber', ...options })
  }
  const refusal = (error: object) => ({ body: { id: 1, error } })

  it('returns the result, null included', async () => {
    expect(await call({ body: { id: 1, result: '0x10' } })).to.equal('0x10')
    expect(await call({ body: { id: 1, result: null } })).to.equal(null)
    expect(node?.requests).to.deep.equal([
      { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
    ])
  })

  const faults: ReadonlyArray<[string, ScriptedAnswer, string]> = [
    ['a web page', { body: '<html>' }, 'rpc_garbage'],
    ['half an answer', { body: '{"id":1,"res' }, 'rpc_garbage'],
    ['an empty answer', { body: '' }, 'rpc_garbage'],
    ['a list', { body: [] }, 'rpc_garbage'],
    ['a number', { body: '1' }, 'rpc_garbage'],
    ['neither result nor error', { body: { id: 1 } }, 'rpc_garbage'],
    ['the answer to something else', { body: { id: 2, result: '0x1' } }, 'rpc_garbage'],
    ['a gateway’s failure', { status: 502, body: 'Bad Gateway' }, 'rpc_unreachable'],
    ['a closed connection', { body: undefined }, 'rpc_unreachable'],
    ['a redirect', { status: 302, headers: { location: '/' }, body: '' }, 'rpc_unreachable'],
    ['HTTP 429', { status: 429, body: 'slow down' }, 'rpc_rate_limited'],
    ['a limit', refusal({ code: -32_005, message: 'limit exceeded' }), 'rpc_rate_limited'],
    ['a quota', refusal({ code: -32_000, message: 'Rate limit hit' }), 'rpc_rate_limited'],
    ['a revert', refusal({ code: 3, message: 'execution reverted' }), 'rpc_reverted'],
    [
      'a revert whose words mislead',
      refusal({ code: 3, message: 'execution reverted: rate limit' }),
      'rpc_reverted',
    ],
    ['a missing method', refusal({ code: -32_601, message: 'nope' }), 'rpc_method_missing'],
    ['an unsupported method', refusal({ code: -32_004, message: '' }), 'rpc_method_missing'],
    ['any refusal', refusal({ code: -32_000, message: 'nonce too low' }), 'rpc_refused'],
    ['an error without words', refusal({}), 'rpc_refused'],
  ]
  for (const [name, script, code] of faults) {
    it(`names ${name}: ${code}`, async () => {
      await expectFailure(() => call(script), code)
    })
  }

  const tooMuch = [
    'query returned more than 10000 results',
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range',
    'eth_getLogs is limited to a 10,000 range',
    'eth_getLogs is limited to 1024 block range',
    'block range is too wide',
    'exceed maximum block range: 50000',
    'requested too many blocks from 1 to 9000, maximum is set to 2048',
    'Max range: 800',
    'Maximum allowed number of requested blocks is 1000',
    'query exceeds max results 20000, retry with the range 5-9',
    'logs matched by query exceeds limit of 10000',
    'backend response too large',
    'exceeds the range allowed for your plan (5000 > 500)',
    'please limit the query to at most 1000 blocks',
    'query must be smaller than size 1024',
    'maximum [from, to] blocks distance: 1000',
    'Query timeout exceeded. Consider reducing your block range.',
  ]
  for (const message of tooMuch) {
    it(`asks for less where a node says of logs: ${message}`, async () => {
      const error = { code: -32_005, message }
      await expectFailure(
        () => call(refusal(error), { method: 'eth_getLogs' }),
        'rpc_range_too_large',
      )
    })
  }

  it('does not take a limit of requests for one of logs', async () => {
    for (const message of ['rate limit exceeded for eth_getLogs', 'limit exceeded']) {
      const script = refusal({ code: -32_005, message })
      await expectFailure(() => call(script, { method: 'eth_getLogs' }), 'rpc_rate_limited')
    }
  })

  it('keeps the data of a revert', async () => {
    const script = refusal({ code: 3, message: 'execution reverted', data: '0x1234' })
    const error = (await expectFailure(() => call(script), 'rpc_reverted')) as RpcError
    expect(error.data).to.equal('0x1234')
  })

  it('reads how long the provider wants to be left alone', async () => {
    const script = { status: 429, headers: { 'retry-after': '7' }, body: '' }
    const error = (await expectFailure(() => call(script), 'rpc_rate_limited')) as RpcError
    expect(error.retryAfterMs).to.equal(7000)
    expect(error.retryable).to.equal(true)
  })

  it('stops reading an answer that is too large', async () => {
    const body = { id: 1, result: 'x'.repeat(5000) }
    await expectFailure(() => call({ body }, { maxAnswerBytes: 4999 }), 'rpc_answer_too_large')
  })

  it('ends after its time, and as soon as the caller says so', async () => {
    const { url } = await answering(() => new Promise(() => undefined))
    await expectFailure(() => callRpc({ url, method: 'eth_chainId', timeoutMs: 20 }), 'rpc_timeout')
    const controller = new AbortController()
    const waiting = callRpc({ url, method: 'eth_chainId', signal: controller.signal })
    controller.abort()
    await expectFailure(() => waiting, 'rpc_aborted')
  })

  it('shows no key of an address, even where the provider repeats it', async () => {
    const { name } = await answering(
      refusal({ code: -32_000, message: 'project 0123456789abcdef is out of SECRETWORD' }),
    )
    const url = `http://user:PASSWORD1@${name}/v3/0123456789abcdef?k=SECRETWORD`
    const error = await expectFailure(() => callRpc({ url, method: 'eth_chainId' }), 'rpc_refused')
    expect(error.message).to.include('project … is out of …')
    const basic = `Basic ${Buffer.from('user:PASSWORD1').toString('base64')}`
    expect(node?.headers().authorization).to.equal(basic)

    await node?.stop()
    const broken = await expectFailure(() => callRpc({ url, method: 'm' }), 'rpc_unreachable')
    const shown = [error, broken].map(({ message, stack, cause, details }) =>
      JSON.stringify([message, stack, cause, details]),
    )
    expect(shown.join()).not.to.match(/PASSWORD1|0123456789abcdef|SECRETWORD/)
  })

  describe('in a batch', () => {
    const items = [{ method: 'a' }, { method: 'b' }, { method: 'c' }]
    const batch = async (body: unknown) => {
      const { url } = await answering({ body })
      const outcomes = await callRpcBatch({ url }, items)
      return outcomes.map((outcome) => (outcome.ok ? outcome.result : outcome.error.code))
    }

    it('has its own outcome, in the order of asking', async () => {
      const answers = [
        { id: 3, result: 'third' },
        { id: 1, result: 'first' },
        { id: 2, error: { code: -32_601, message: 'method not found' } },
      ]
      expect(await batch(answers)).to.deep.equal(['first', 'rpc_method_missing', 'third'])
    })

    it('fails alone when its answer is missing, and takes the first of two', async () => {
      const answers = [{ id: 1, result: 1 }, { id: 1, result: 2 }, { id: 9, result: 9 }, null]
      expect(await batch(answers)).to.deep.equal([1, 'rpc_garbage', 'rpc_garbage'])
    })

    it('fails as a whole when the provider takes no batches', async () => {
      const error = { id: null, error: { code: -32_600, message: 'batch limit exceeded' } }
      await expectFailure(() => batch(error), 'rpc_batch_too_large')
      await expectFailure(() => batch({ id: 1, result: 1 }), 'rpc_garbage')
    })

    it('sends nothing when there is nothing to ask', async () => {
      expect(await callRpcBatch({ url: 'http://127.0.0.1:1' }, [])).to.deep.equal([])
    })
  })
})
