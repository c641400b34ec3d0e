import { expect } from 'chai'

import type { NotSettledError } from '../../src/checked/errors.ts'
import { settle, type Claimed, type SettleOptions } from '../../src/checked/settle.ts'
import { platformRuntime } from '../../src/client/runtime.ts'
import type { DisagreementKind, Verdict } from '../../src/verify/index.ts'
import { conclude } from '../../src/verify/verdict.ts'
import { expectFailure } from '../fixtures/errors.ts'

const A = `0x${'a'.repeat(64)}`
const B = `0x${'b'.repeat(64)}`

describe('settle', () => {
  type Round = { claimed: Claimed<string>; chain: Record<string, readonly DisagreementKind[]> }

  /** What server and chain say, round by round; the last goes on for ever. */
  const play = (rounds: readonly Round[], options: SettleOptions = {}) => {
    let at = -1
    const now = (): Round => rounds[Math.min(at, rounds.length - 1)]!
    return settle(
      {
        runtime: { ...platformRuntime, random: () => 0 },
        look: () => {
          at += 1
          return Promise.resolve(now().claimed)
        },
        judge: (hash) => Promise.resolve(verdictOf(now().chain[hash] ?? ['missing'])),
        take: () => undefined,
      },
      { pollMs: 1, timeoutMs: 2_000, ...options },
    )
  }
  const round = (
    outcome: Claimed<string>['outcome'],
    chain: Record<string, readonly DisagreementKind[]>,
  ): Round => ({ claimed: { record: outcome, hashes: Object.keys(chain), outcome }, chain })

  it('waits until the chain agrees, whatever the record says before', async () => {
    const { hash, verdict, record } = await play([
      round('open', { [A]: ['missing'] }),
      round('done', { [A]: ['not_mined'] }),
      round('done', { [A]: ['not_final'] }),
      round('done', { [A]: [] }),
    ])
    expect([hash, verdict.status, record]).to.deep.equal([A, 'holds', 'done'])
  })

  it('follows a fee that was raised to the transaction that was mined', async () => {
    const { hash } = await play([
      round('open', { [A]: ['not_mined'] }),
      round('open', { [B]: ['not_mined'], [A]: ['replaced'] }),
      round('open', { [B]: ['not_final'], [A]: ['replaced'] }),
      round('open', { [B]: [], [A]: ['replaced'] }),
    ])
    expect(hash).to.equal(B)
  })

  it('finds the first transaction where that was mined after all', async () => {
    const { hash } = await play([round('open', { [B]: ['replaced'], [A]: [] })])
    expect(hash).to.equal(A)
  })

  for (const kind of ['reverted', 'wrong_amount', 'wrong_recipient', 'no_payment'] as const) {
    it(`rejects at once where the transaction is ${kind}`, async () => {
      const work = (): Promise<unknown> => play([round('done', { [A]: [kind] })])
      const error = (await expectFailure(work, 'chain_disagrees')) as NotSettledError
      expect(error.verdict?.disagreements[0]?.kind).to.equal(kind)
      expect(error.record).to.equal('done')
    })
  }

  it('rejects a record that says paid only when the chain stays empty', async () => {
    const late = [round('done', { [A]: ['missing'] }), round('done', { [A]: [] })]
    expect((await play(late)).hash).to.equal(A)
    const never = round('done', { [A]: ['missing'] })
    await expectFailure(() => play([never]), 'chain_disagrees')
  })

  it('waits on for what is missing while the record is open, and then says not yet', async () => {
    const open = round('open', { [A]: ['missing'] })
    const error = await expectFailure(() => play([open], { timeoutMs: 50 }), 'not_settled_yet')
    expect(error.retryable).to.equal(true)
  })

  it('rejects nodes that go on disagreeing', () =>
    expectFailure(() => play([round('open', { [A]: ['provider_disagrees'] })]), 'chain_disagrees'))

  it('tells a payment that failed from one that the record only says has failed', async () => {
    const failed = round('failed', { [A]: ['replaced'] })
    await expectFailure(() => play([failed]), 'payment_failed')
    await expectFailure(() => play([round('failed', { [A]: [] })]), 'record_disagrees')
  })

  it('ends when its caller does', async () => {
    const open = round('open', { [A]: ['not_mined'] })
    const signal = AbortSignal.timeout(20)
    await expectFailure(() => play([open], { signal, pollMs: 10_000 }), 'aborted')
    await expectFailure(() => play([open], { signal: AbortSignal.abort() }), 'aborted')
  })
})

function verdictOf(kinds: readonly DisagreementKind[]): Verdict {
  return conclude({ disagreements: kinds.map((kind) => ({ kind, message: kind })) })
}
