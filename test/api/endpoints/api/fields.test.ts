import { expect } from 'chai'

import { fieldsOf } from '../../../../src/api/endpoints/api/fields.ts'

describe('the fields of a row on the wire', () => {
  const row = {
    userId: 7,
    amountMinor: 12n,
    createdAt: new Date('2026-01-02T03:04:05.006Z'),
    revokedAt: undefined,
    passwordHash: 'secret',
  }

  it('are those that are named, in snake case, and no others', () => {
    expect(fieldsOf(row, 'userId', 'amountMinor')).to.deep.equal({ user_id: 7, amount_minor: 12n })
  })

  it('have times in ISO 8601, and null for what is not there', () => {
    expect(fieldsOf(row, 'createdAt', 'revokedAt')).to.deep.equal({
      created_at: '2026-01-02T03:04:05.006Z',
      revoked_at: null,
    })
  })
})
