import { expect } from 'chai'

import { codeOf } from '../../../src/base/errors.ts'
import type { ProviderEvent } from '../../../src/chain/rpc/http-provider.ts'
import {
  createProviders,
  type Providers,
  type ProvidersDeps,
} from '../../../src/chain/rpc/providers.ts'
import {
  startNode,
  startScriptedNode,
  type Message,
  type ScriptedNode,
} from '../../fixtures/chain/scripted-node.ts'
import { createJumpingClock, type JumpingClock } from '../../fixtures/clock.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const CHAIN = 31_337
const never = new AbortController().signal

describe('the providers of a chain', () => {
  const nodes: ScriptedNode[] = []
  let clock: JumpingClock
  let events: ProviderEvent[]

  beforeEach(() => {
    clock = createJumpingClock()
    events = []
  })
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.stop()))
  })

  const node = async (answer: (message: Message) => unknown, chainId = CHAIN) => {
    const started = await startNode(chainId, answer)
    nodes.push(started)
    return started
  }
  const over = (list: readonly ScriptedNode[], options: Partial<ProvidersDeps> = {}): Providers =>
    createProviders({
      urls: list.map(({ url }) => url),
      chainId: CHAIN,
      clock,
      random: () => 0.5,
      onEvent: (event) => void events.push(event),
      timeoutMs: 500,
      ...options,
    })
  const refusing = (): never => {
    throw new Error('header not found')
  }
  const dead = async () => {
    const started = await startScriptedNode(() => ({ body: undefined }))
    nodes.push(started)
    return started
  }
  const block = { method: 'eth_blockNumber' }

  it('answer with the name of the one that answered', async () => {
    const one = await node(() => '0x7')
    expect(await over([one]).ask(block)).to.deep.equal({ result: '0x7', provider: one.name })
  })

  it('stand in for each other, without a pause', async () => {
    const [broken, refuser, well] = [await dead(), await node(refusing), await node(() => '0x7')]
    const answer = await over([broken, refuser, well]).ask(block)
    expect(answer).to.deep.equal({ result: '0x7', provider: well.name })
    expect(clock.slept).to.deep.equal([])
  })

  it('are all asked again after a growing pause, and then given up', async () => {
    const broken = await dead()
    await expectFailure(() => over([broken]).ask(block), 'rpc_unreachable')
    expect(clock.slept).to.deep.equal([75, 150])
    expect(broken.requests).to.have.length(3)
  })

  it('are not asked again when each one refused', async () => {
    const refusers = [await node(refusing), await node(refusing)]
    await expectFailure(() => over(refusers).ask(block), 'rpc_refused')
    expect(clock.slept).to.deep.equal([])
  })

  it('believe the first one that says a call would revert', async () => {
    const [first, second] = [
      await node(() => {
        throw new Error('execution reverted')
      }),
      await node(() => '0x'),
    ]
    await expectFailure(() => over([first, second]).ask({ method: 'eth_call' }), 'rpc_reverted')
    expect(second.requests).to.have.length(0)
  })

  it('are asked in the order of their health', async () => {
    let isWell = false
    const first = await node(() => (isWell ? '0x1' : refusing()))
    const [second, third] = [await dead(), await node(() => '0x3')]
    const providers = over([second, first, third])
    for (let time = 0; time < 3; time += 1) await providers.ask(block)
    // A refusal is no illness: the refuser stays in front of the dead one.
    isWell = true
    await providers.ask(block)
    const states = providers.states().map(({ name, circuit }) => [name, circuit])
    expect(states[0]).to.deep.equal([second.name, 'closed'])
    const before = second.requests.length
    await providers.ask(block)
    expect(second.requests).to.have.length(before)
  })

  it('leave one alone after three failures in a row, and try it again later', async () => {
    let isWell = false
    const flaky = await startScriptedNode((message) =>
      isWell ? { body: { id: (message as Message).id, result: '0x7a69' } } : { body: '<html>' },
    )
    nodes.push(flaky)
    const well = await node(() => '0x2')
    const providers = over([flaky, well])
    for (let time = 0; time < 3; time += 1) await providers.askAll(block)
    expect(providers.states()[0]?.circuit).to.equal('open')
    const left = await providers.askAll(block)
    expect(left.failed.map(({ provider }) => provider)).to.deep.equal([flaky.name])
    expect(flaky.requests).to.have.length(3)

    isWell = true
    clock.advance(500)
    expect(providers.states()[0]?.circuit).to.equal('trial')
    const tried = await providers.askAll(block)
    expect(tried.told[0]).to.deep.equal({ provider: flaky.name, value: '0x7a69' })
    expect(providers.states()[0]?.circuit).to.equal('closed')
    const circuits = events.flatMap((event) => (event.kind === 'circuit' ? event.circuit : []))
    expect(circuits).to.deep.equal(['open', 'closed'])
  })

  it('are asked although all of them are broken', async () => {
    const broken = await dead()
    const providers = over([broken])
    await expectFailure(() => providers.ask(block), 'rpc_unreachable')
    expect(providers.states()[0]?.circuit).to.equal('open')
    const before = broken.requests.length
    expect((await providers.askAll(block)).failed).to.have.length(1)
    expect(broken.requests.length).to.equal(before + 1)
  })

  it('report each call, and never an address', async () => {
    const one = await node(() => '0x1')
    const providers = over([one], { urls: [`${one.url}/v3/SECRETSECRET`] })
    await providers.ask(block)
    const calls = events.flatMap((event) => (event.kind === 'call' ? [event] : []))
    expect(calls.map(({ method, outcome }) => `${method} ${outcome}`)).to.deep.equal([
      'eth_chainId ok',
      'eth_blockNumber ok',
    ])
    expect(JSON.stringify([events, providers.states()])).not.to.include('SECRET')
  })

  it('are told apart although they share a host', async () => {
    const one = await node(() => '0x1')
    const providers = over([one], { urls: [`${one.url}/a`, `${one.url}/b`] })
    expect(providers.all.map(({ name }) => name)).to.deep.equal([one.name, `${one.name} (2)`])
  })

  it('need at least one address', async () => {
    await expectFailure(() => over([]), 'rpc_no_provider')
  })

  it('end their work when the caller says so', async () => {
    const silent = await startScriptedNode(() => new Promise(() => undefined))
    nodes.push(silent)
    const controller = new AbortController()
    const providers = over([silent])
    const asked = providers.ask({ ...block, signal: controller.signal })
    const batch = providers.all[0]!.batch([block], controller.signal)
    controller.abort()
    await expectFailure(() => asked, 'rpc_aborted')
    const outcomes = await batch
    expect(outcomes.map((one) => (one.ok ? 'ok' : one.error.code))).to.deep.equal(['rpc_aborted'])
  })

  describe('on another chain', () => {
    it('are out of use and reported, and the others go on', async () => {
      const [wrong, right] = [await node(() => '0x1', 5), await node(() => '0x2')]
      const providers = over([wrong, right])
      expect(await providers.ask(block)).to.include({ result: '0x2', provider: right.name })
      expect(events.filter(({ kind }) => kind === 'wrong_chain')).to.deep.equal([
        { kind: 'wrong_chain', provider: wrong.name, expected: CHAIN, actual: '0x5' },
      ])
      const { failed } = await providers.askAll(block)
      expect(failed.map(({ provider }) => provider)).to.deep.equal([wrong.name])
      expect(wrong.requests).to.have.length(1)
    })

    it('are found out later too, and taken back when they are right again', async () => {
      let chainId = '0x7a69'
      const turning = await startScriptedNode((message) => ({
        body: { id: (message as Message).id, result: chainId },
      }))
      nodes.push(turning)
      const providers = over([turning], { chainCheckMs: 1000 })
      expect((await providers.ask(block)).result).to.equal('0x7a69')
      chainId = '0x1'
      clock.advance(1000)
      await expectFailure(() => providers.ask(block), 'rpc_wrong_chain')
      const [state] = await providers.checkAll(never)
      expect(state?.wrongChainId).to.equal('0x1')
      chainId = '0x7a69'
      clock.advance(1000)
      expect((await providers.ask(block)).result).to.equal('0x7a69')
      expect(events.filter(({ kind }) => kind === 'wrong_chain')).to.have.length(1)
    })

    it('are told by nonsense as well', async () => {
      const odd = await startScriptedNode((message) => ({
        body: { id: (message as Message).id, result: 'soon' },
      }))
      nodes.push(odd)
      await expectFailure(() => over([odd]).ask(block), 'rpc_wrong_chain')
    })
  })

  describe('asked all at once', () => {
    it('say what each one says, errors included', async () => {
      const [well, refuser, broken] = [await node(() => '0x1'), await node(refusing), await dead()]
      const { told, failed } = await over([well, refuser, broken]).askAll(block)
      expect(told).to.deep.equal([{ provider: well.name, value: '0x1' }])
      const reasons = failed.map(({ provider, error }) => [provider, codeOf(error)])
      expect(reasons).to.deep.equal([
        [refuser.name, 'rpc_refused'],
        [broken.name, 'rpc_unreachable'],
      ])
    })
  })

  describe('in a batch', () => {
    it('leave an item its error', async () => {
      const one = await node(({ method }) => (method === 'b' ? refusing() : method))
      const items = [{ method: 'a' }, { method: 'b' }]
      const answers = await over([one]).all[0]!.batch(items, never)
      expect(
        answers.map((answer) => (answer.ok ? answer.result : answer.error.code)),
      ).to.deep.equal(['a', 'rpc_refused'])
    })

    it('learn how many items one takes', async () => {
      const picky = await startScriptedNode((message) => {
        if (!Array.isArray(message)) return { body: { id: message.id, result: '0x7a69' } }
        if (message.length > 3) {
          return { body: { id: null, error: { code: -32_600, message: 'batch too large' } } }
        }
        return { body: message.map(({ id, params }) => ({ id, result: params[0] })) }
      })
      nodes.push(picky)
      const providers = over([picky])
      const items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((value) => ({
        method: 'm',
        params: [value],
      }))
      const ask = async () => {
        const answers = await providers.all[0]!.batch(items, never)
        return answers.map((answer) => (answer.ok ? answer.result : answer.error.code))
      }
      expect(await ask()).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      expect(providers.states()[0]?.batchItems).to.equal(2)
      const before = picky.requests.length
      await ask()
      expect(picky.requests.length - before).to.equal(5)
    })

    it('slow down when one item hits a limit', async () => {
      const limited = await startScriptedNode((message) => ({
        body: Array.isArray(message)
          ? message.map(({ id }) => ({ id, error: { code: -32_005, message: 'limit exceeded' } }))
          : { id: message.id, result: '0x7a69' },
      }))
      nodes.push(limited)
      const providers = over([limited])
      await providers.all[0]!.batch([block], never)
      expect(providers.states()[0]).to.include({ isPaused: true, ratePerSecond: 1 })
    })
  })
})
