import { expect } from 'chai'
import { sql } from 'kysely'

import { createRuns, type RunsDeps } from '../../src/reconciler/runs.ts'
import { createJumpingClock } from '../support/clock.ts'
import { runsDeps } from '../support/runs.ts'
import { createBench, type Bench } from '../support/sender-bench.ts'
import { until } from '../support/until.ts'

describe('scheduled runs', () => {
  let bench: Bench
  let deps: RunsDeps

  beforeEach(async () => {
    bench = await createBench()
    deps = runsDeps({ db: bench.db, urls: [bench.url] })
  })
  after(() => bench.stop())

  it('begin by themselves when it is time, one after the other', async () => {
    const stopper = new AbortController()
    const done = createRuns({ ...deps, everyMs: 1 }).run(stopper.signal)
    for (let round = 0; round < 500; round++) {
      const { rows } = await sql<{ count: bigint }>`
        select count(*) from runs where state = 'completed'`.execute(bench.db)
      if ((rows[0]?.count ?? 0n) >= 2n) break
      await new Promise((later) => setTimeout(later, 10))
    }
    stopper.abort()
    await done
    const { rows } = await sql<{ requested_by: string }>`
      select distinct requested_by from runs`.execute(bench.db)
    expect(rows).to.deep.equal([{ requested_by: 'schedule' }])
  })

  it('begin more seldom where they take long', async () => {
    const clock = createJumpingClock()
    const look: RunsDeps['examiner']['look'] = (signal) => {
      clock.advance(30_000)
      return deps.examiner.look(signal)
    }
    const examiner = { ...deps.examiner, look }
    const runs = createRuns({ ...deps, clock, everyMs: 60_000, pollMs: 1_000, examiner })
    const stopper = new AbortController()
    const done = runs.run(stopper.signal)
    const seconds = async () => {
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from created_at - min(created_at) over ())::integer as seconds
        from runs order by id`.execute(bench.db)
      return rows.map((row) => row.seconds)
    }
    await until(async () => (await seconds()).length > 1)
    stopper.abort()
    await done
    expect((await seconds())[1]).to.be.within(300, 310)
  })
}).timeout(120_000)
