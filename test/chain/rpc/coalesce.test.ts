import { expect } from 'chai'

import { coalescing } from '../../../src/chain/rpc/coalesce.ts'
import { RpcError } from '../../../src/chain/rpc/rpc-error.ts'
import type { RpcItem, RpcOutcome } from '../../../src/chain/rpc/rpc.ts'
import { expectFailure } from '../../fixtures/errors.ts'

describe('calls that begin together', () => {
  const refused = (code: 'rpc_refused' | 'rpc_unreachable') => new RpcError('No.', { code })

  /** A provider that writes down what it was asked, and answers each method with its name. */
  function recorder(answer?: (items: readonly RpcItem[]) => RpcOutcome[]) {
    const asked: string[] = []
    const provider = coalescing({
      name: 'recorder',
      async request({ method }) {
        asked.push(method)
        return method
      },
      async batch(items) {
        asked.push(items.map(({ method }) => method).join('+'))
        return answer?.(items) ?? items.map(({ method }) => ({ ok: true, result: method }))
      },
    })
    return { asked, ask: (method: string) => provider.request({ method }), provider }
  }

  it('travel in one request, and each has its own answer', async () => {
    const { asked, ask } = recorder()
    expect(await Promise.all([ask('a'), ask('b'), ask('c')])).to.deep.equal(['a', 'b', 'c'])
    expect(await ask('d')).to.equal('d')
    expect(asked).to.deep.equal(['a+b+c', 'd'])
  })

  it('fail one by one', async () => {
    const { ask } = recorder((items) =>
      items.map(({ method }) =>
        method === 'bad'
          ? { ok: false, error: refused('rpc_refused') }
          : { ok: true, result: method },
      ),
    )
    const good = ask('good')
    await expectFailure(() => ask('bad'), 'rpc_refused')
    expect(await good).to.equal('good')
  })

  it('are asked alone where the provider takes no batches', async () => {
    const error = refused('rpc_refused')
    const { asked, ask } = recorder((items) => items.map(() => ({ ok: false, error })))
    expect(await Promise.all([ask('a'), ask('b')])).to.deep.equal(['a', 'b'])
    expect(asked).to.deep.equal(['a+b', 'a', 'b'])
  })

  it('are not repeated where the line failed, since that is for the caller to decide', async () => {
    const error = refused('rpc_unreachable')
    const { asked, ask } = recorder((items) => items.map(() => ({ ok: false, error })))
    const other = ask('b').catch(() => 'failed')
    await expectFailure(() => ask('a'), 'rpc_unreachable')
    expect([await other, asked]).to.deep.equal(['failed', ['b+a']])
  })

  it('end by their own signal, and take no other with them', async () => {
    const { asked, ask, provider } = recorder()
    const controller = new AbortController()
    const ended = provider.request({ method: 'a', signal: controller.signal })
    const others = Promise.all([ask('b'), ask('c')])
    controller.abort()
    await expectFailure(() => ended, 'rpc_aborted')
    expect(await others).to.deep.equal(['b', 'c'])
    expect(asked).to.deep.equal(['b+c'])
  })
})
