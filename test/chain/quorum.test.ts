import { expect } from 'chai'

import {
  agreedOf,
  agreedOn,
  askEach,
  attested,
  attestedOf,
  campsOf,
  finalUnder,
  heardOf,
  neededOf,
  weigh,
  type Failure,
} from '../../src/chain/quorum.ts'

const NEVER = new AbortController().signal

const DOWN = new Error('It is down.')

/** Providers that answer these; an error is what one rejects with. */
function providersOf<T>(...answers: readonly T[]) {
  return answers.map((answer, at) => ({ name: `node ${at}`, answer }))
}

async function answerOf<T>({ answer }: { answer: T }): Promise<Exclude<T, Error>> {
  if (answer instanceof Error) throw answer
  return answer as Exclude<T, Error>
}

function quorumOf<T>(...answers: readonly T[]) {
  const failures: Failure[] = []
  const onFailure = (failure: Failure) => failures.push(failure)
  return { providers: providersOf(...answers), needed: 2, signal: NEVER, onFailure, failures }
}

describe('a quorum', () => {
  it('needs two of those that are asked, the only one where there is no other', () => {
    expect([1, 2, 3, 16].map((asked) => neededOf(asked))).to.deep.equal([1, 2, 2, 2])
    expect(neededOf(4, 3)).to.equal(3)
    expect(neededOf(2, 3)).to.equal(2)
  })

  it('keeps answers and failures in the order of the providers', async () => {
    const asked = providersOf<string | Error | undefined>('a', DOWN, undefined, 'b')
    expect(await askEach(asked, answerOf)).to.deep.equal({
      told: [
        { provider: 'node 0', value: 'a' },
        { provider: 'node 2', value: undefined },
        { provider: 'node 3', value: 'b' },
      ],
      failed: [{ provider: 'node 1', error: DOWN }],
    })
  })

  it('is asked all at once, and one that throws at once only fails', async () => {
    const begun: string[] = []
    const answers = await askEach([{ name: 'a' }, { name: 'b' }], ({ name }): Promise<string> => {
      begun.push(name)
      if (name === 'a') throw DOWN
      return Promise.resolve(name)
    })
    expect(begun).to.deep.equal(['a', 'b'])
    expect(answers.told).to.deep.equal([{ provider: 'b', value: 'b' }])
  })

  it('is heard where two told, and otherwise fails for the reason of the first', async () => {
    const one = await askEach(providersOf<string | Error>(DOWN, 'a', 'b'), answerOf)
    expect(heardOf(one)).to.deep.equal({ told: one.told, needed: 2 })
    const two = await askEach(providersOf<string | Error>('a', DOWN), answerOf)
    expect(() => heardOf(two)).to.throw(DOWN.message)
    const unknowing = await askEach(providersOf<string | undefined>('a', undefined), answerOf)
    expect(heardOf(unknowing).needed).to.equal(2)
  })

  it('groups those who say the same, the largest camp first, then the one that spoke first', () => {
    expect(campsOf(['b', 'a', 'a'])).to.deep.equal([['a', 'a'], ['b']])
    expect(campsOf(['b', 'a', 'a', 'b'])).to.deep.equal([
      ['b', 'b'],
      ['a', 'a'],
    ])
    expect(campsOf([])).to.deep.equal([])
  })

  it('compares whole facts, with amounts and undefined among them', () => {
    const fact = (amount: bigint | undefined) => ({ at: { amount } })
    expect(
      campsOf([fact(1n), fact(1n), fact(undefined)]).map(({ length }) => length),
    ).to.deep.equal([2, 1])
    expect(campsOf([undefined, 1n])).to.have.length(2)
  })

  it('asks for no key of an answer that stands alone', () => {
    const camps = campsOf(['a'], () => {
      throw DOWN
    })
    expect(camps).to.deep.equal([['a']])
  })

  it('contradicts itself where a second camp is enough too, or none is', () => {
    const weight = (...sizes: number[]) =>
      weigh(
        sizes.map((length) => Array.from({ length })),
        2,
      )
    expect(weight()).to.equal('too_few')
    expect(weight(1)).to.equal('too_few')
    expect(weight(2)).to.equal('agreed')
    expect(weight(2, 1)).to.equal('agreed')
    expect(weight(1, 1)).to.equal('contradicted')
    expect(weight(3, 2)).to.equal('contradicted')
  })

  it('believes what enough say alike, and nothing else', () => {
    expect(agreedOf(['a', 'b'], 2)).to.equal(undefined)
    expect(agreedOf(['a', 'b', 'b'], 2)).to.equal('b')
    expect(agreedOf(['a'], 2)).to.equal(undefined)
    expect(agreedOf(['a'], 1)).to.equal('a')
    expect(agreedOf(['b', 'b', 'a', 'a', 'a'], 2)).to.equal('a')
    expect(agreedOf(['A', 'a'], 2, (text) => text.toLowerCase())).to.equal('A')
  })

  it('attests the height that enough reach, even if others are ahead or behind', () => {
    expect(attestedOf([18n, 10n], 2)).to.equal(10n)
    expect(attestedOf([4n, 18n, 10n], 2)).to.equal(10n)
    expect(attestedOf([2n ** 64n, 2n ** 64n + 1n], 1)).to.equal(2n ** 64n + 1n)
    expect(attestedOf([18n], 2)).to.equal(undefined)
  })

  it('calls final what has the confirmations, its own block included', () => {
    expect(finalUnder(10n, 1)).to.equal(10n)
    expect(finalUnder(10n, 11)).to.equal(0n)
    expect(finalUnder(10n, 12)).to.equal(undefined)
    expect(finalUnder(10n, 'finalized')).to.equal(10n)
  })

  it('does not count those who know nothing as a camp', async () => {
    const few = quorumOf<string | undefined>(undefined, undefined, undefined, 'a', 'a')
    expect(await agreedOn(few, answerOf)).to.equal('a')
  })

  it('is asked for a fact or a height, and tells each failure', async () => {
    const facts = quorumOf<string | Error>('a', DOWN, 'a')
    expect(await agreedOn(facts, answerOf)).to.equal('a')
    expect(facts.failures).to.deep.equal([{ provider: 'node 1', error: DOWN }])
    const heights = quorumOf<bigint | Error | undefined>(9n, DOWN, undefined, 7n)
    expect(await attested(heights, answerOf)).to.equal(7n)
    expect(heights.failures).to.deep.equal([{ provider: 'node 1', error: DOWN }])
    expect(await agreedOn(quorumOf<string | Error>('a', DOWN), answerOf)).to.equal(undefined)
    expect(await agreedOn(quorumOf(['a'], ['a']), answerOf)).to.deep.equal(['a'])
  })
})
