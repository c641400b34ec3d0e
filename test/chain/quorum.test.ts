import { expect } from 'chai'

import {
  agreed,
  agreedOn,
  attested,
  commonOf,
  enoughOf,
  finalBelow,
  highestOf,
  type Quorum,
} from '../../src/chain/quorum.ts'
import type { Provider } from '../../src/chain/rpc/provider.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('a quorum', () => {
  it('is two, or the only one there is', () => {
    expect([1, 2, 3, 9].map((asked) => enoughOf(asked))).to.deep.equal([1, 2, 2, 2])
    expect([1, 3, 9].map((asked) => enoughOf(asked, 3))).to.deep.equal([1, 3, 3])
  })

  it('reaches the height that enough reach, whoever is ahead or behind', () => {
    expect(highestOf([5n, 9n, 7n], 2)).to.equal(7n)
    // Numbers that a float would round to one.
    expect(highestOf([2n ** 60n, 2n ** 60n + 1n], 1)).to.equal(2n ** 60n + 1n)
    expect(highestOf([5n], 2)).to.equal(undefined)
  })

  it('counts the block itself among its confirmations', () => {
    expect(finalBelow(10n, 1)).to.equal(10n)
    expect(finalBelow(10n, 11)).to.equal(0n)
    expect(finalBelow(10n, 12)).to.equal(undefined)
  })

  it('takes what enough give alike, and nothing from those who know nothing', () => {
    expect(commonOf(['a', undefined, 'b', undefined, 'b'], 2)).to.equal('b')
    expect(commonOf(['a', undefined, 'b', undefined], 2)).to.equal(undefined)
    const pairs = [{ key: 1 }, { key: 2 }, { key: 1 }]
    expect(commonOf(pairs, 2, ({ key }) => key)).to.equal(pairs[2])
  })

  describe('of providers', () => {
    const failed: string[] = []
    const quorumOf = (answers: readonly unknown[]): Quorum => ({
      providers: answers.map((answer, at) => ({
        name: `p${at}`,
        request: async () => {
          if (answer instanceof Error) throw answer
          return answer
        },
      })),
      needed: 2,
      signal: new AbortController().signal,
      onFailure: ({ provider }) => void failed.push(provider),
    })
    const ask = async (provider: Provider) =>
      (await provider.request({ method: 'eth_x' })) as bigint | undefined

    beforeEach(() => void (failed.length = 0))

    it('agrees where two say the same, and names those that failed', async () => {
      expect(await agreedOn(quorumOf([1n, new Error('away'), 1n]), ask)).to.equal(1n)
      expect(failed).to.deep.equal(['p1'])
    })

    it('agrees on nothing that one says alone', async () => {
      expect(await agreedOn(quorumOf([1n, 2n]), ask)).to.equal(undefined)
      expect(await attested(quorumOf([7n, undefined]), ask)).to.equal(undefined)
      expect(await attested(quorumOf([7n, 4n]), ask)).to.equal(4n)
    })
  })

  describe('that must be unanimous', () => {
    const said = <T>(value: T) => ({ status: 'fulfilled' as const, value })
    const silent = { status: 'rejected' as const, reason: new Error('away') }

    it('takes what all say that answer', () => {
      expect(agreed([said([1n]), silent, said([1n])])).to.deep.equal([1n])
      expect(agreed([said(undefined), said(undefined)])).to.equal(undefined)
      expect(agreed([said(1)])).to.equal(1)
    })

    it('refuses two that differ, however many agree', () =>
      expectFailure(() => agreed([said(1n), said(1n), said(2n)]), 'providers_differ'))

    it('refuses one alone where there are two, with what kept the other', () => {
      expect(() => agreed([said(1), silent])).to.throw('away')
    })
  })
})
