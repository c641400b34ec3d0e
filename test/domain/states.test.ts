import { expect } from 'chai'

import {
  FIRST_STATUS,
  isFinal,
  isLegalMove,
  LEGAL_MOVES,
  requireLegalMove,
  TRANSACTION_STATUSES,
  type Move,
} from '../../src/domain/states.ts'
import { failureOf } from '../fixtures/errors.ts'

const LEGAL = [
  'pending → processing',
  'pending → failed',
  'processing → completed',
  'processing → failed',
  'completed → refunded',
]

describe('the moves of a transaction', () => {
  for (const from of TRANSACTION_STATUSES) {
    for (const to of TRANSACTION_STATUSES) {
      const name = `${from} → ${to}`
      if (LEGAL.includes(name)) {
        it(`allow ${name}`, () => {
          expect(isLegalMove({ from, to })).to.equal(true)
          requireLegalMove({ from, to })
        })
      } else {
        it(`refuse ${name}`, async () => {
          expect(isLegalMove({ from, to })).to.equal(false)
          const error = await failureOf(() => requireLegalMove({ from, to }))
          expect(error.code).to.equal('illegal_move')
          expect(error.details).to.deep.equal({ from, to } satisfies Move)
        })
      }
    }
  }

  it('end in failed or refunded, and nowhere else', () => {
    expect(TRANSACTION_STATUSES.filter(isFinal)).to.deep.equal(['failed', 'refunded'])
  })

  it('lead from the first status to every other, and never back to it', () => {
    const reached = new Set<string>([FIRST_STATUS])
    for (const status of reached) {
      for (const next of LEGAL_MOVES[status as keyof typeof LEGAL_MOVES]) reached.add(next)
    }
    expect([...reached].toSorted()).to.deep.equal([...TRANSACTION_STATUSES].toSorted())
    expect(Object.values(LEGAL_MOVES).flat()).not.to.include(FIRST_STATUS)
  })
})
