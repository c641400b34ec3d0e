import { expect } from 'chai'

import { BREAK_KINDS } from '../../src/domain/breaks.ts'
import { scoreFile, type Scored } from '../engines/injected/file.ts'
import { scoreOwnRecords } from '../engines/injected/own-records.ts'
import { scoreOf } from '../engines/injected/score.ts'
import { removeFiles } from '../fixtures/books/reconcile.ts'

const SIZE = { good: 60, ofEach: 2 }

describe('breaks of every kind, injected among good records', () => {
  let file: Scored
  let own: Scored

  before(async () => {
    file = await scoreFile(SIZE)
    own = await scoreOwnRecords(SIZE)
  })
  after(removeFiles)

  it('are all found with their kind, and no other is', () => {
    for (const { scores } of [file, own]) {
      for (const score of scores) {
        const all = { injected: SIZE.ofEach, found: SIZE.ofEach, false: 0 }
        expect(score).to.deep.equal({ kind: score.kind, ...all })
      }
    }
  })

  it('leave every good record matched', () => {
    expect([file.matched, own.matched]).to.deep.equal([SIZE.good, SIZE.good])
  })

  it('are of every kind that there is', () => {
    const kinds = [file, own].flatMap(({ scores }) => scores.map(({ kind }) => kind))
    // The balances are compared block by block, and not by a run: `test/rails/balances.test.ts`.
    expect([...kinds, 'unexplained_balance']).to.have.members([...BREAK_KINDS])
  })

  it('count as false where they are found twice, or as another kind', () => {
    const expected = new Map([
      ['a', 'missing'],
      ['b', 'missing'],
    ] as const)
    const found = [
      { about: 'a', kind: 'missing' },
      { about: 'a', kind: 'missing' },
      { about: 'b', kind: 'reorged' },
    ] as const
    expect(scoreOf(expected, found)).to.deep.equal([
      { kind: 'missing', injected: 2, found: 1, false: 1 },
      { kind: 'reorged', injected: 0, found: 0, false: 1 },
    ])
  })
}).timeout(60_000)
