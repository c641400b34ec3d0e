import { expect } from 'chai'

import { fuzz } from '../engines/fuzz/fuzz.ts'
import { startFuzzTarget, type FuzzTarget } from '../engines/fuzz/start.ts'

describe('a fuzz of every operation', () => {
  let target: FuzzTarget

  before(async () => {
    target = await startFuzzTarget({ users: 8 })
  })

  it('finds no failure, no hang and no answer outside of its schema', async () => {
    const { url, callers } = target
    const { statuses, findings } = await fuzz({ url, callers, seed: 1, requests: 400 })
    const { code, stderr } = await target.stop()
    expect(findings).to.deep.equal([])
    expect(code, stderr).to.equal(0)
    // It was let in, and it was refused: neither half of what it tries is for nothing.
    const all = [...statuses.values()].flatMap((counts) => [...counts.keys()])
    expect(all).to.include.members([200, 201, 400, 401, 404])
    expect(statuses.size).to.be.greaterThan(20)
  })
})
