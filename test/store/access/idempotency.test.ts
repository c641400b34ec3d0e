import { expect } from 'chai'

import {
  completeAnswer,
  findAnswer,
  STARTED,
  storeAnswers,
} from '../../../src/store/access/idempotency.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('the store of answers', () => {
  it('keeps the answer of the process that was quicker', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const key = { userId, operation: 'POST /api/payments', key: 'one' }
    const [quicker, slower] = [
      { status: 201, body: '"quick"' },
      { status: 502, body: '"slow"' },
    ]
    await storeAnswers(db, [{ ...key, fingerprint: 'same', status: STARTED, body: '' }])
    await completeAnswer(db, key, quicker)
    await completeAnswer(db, key, slower)
    expect(await findAnswer(db, key)).to.deep.equal({ fingerprint: 'same', ...quicker })
  })
})
