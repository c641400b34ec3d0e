import { once } from 'node:events'

import { expect } from 'chai'
import { sql } from 'kysely'

import { createBells } from '../../src/base/bells.ts'
import { type RunsDeps } from '../../src/reconciler/perform.ts'
import { createRuns, requestRun } from '../../src/reconciler/runs.ts'
import { runsDeps } from '../fixtures/books/runs.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { createJumpingClock } from '../fixtures/clock.ts'
import { until } from '../fixtures/until.ts'

const hasEnded = (run: { ended: number | null } | undefined): boolean =>
  typeof run?.ended === 'number'

const MINUTELY = { everyMs: 60_000, pollMs: 1_000 }

describe('scheduled runs', () => {
  let bench: Bench
  let deps: RunsDeps

  beforeEach(async () => {
    bench = await createBench()
    deps = runsDeps({ db: bench.db, urls: [bench.url] })
  })
  after(() => bench.stop())

  it('begin by themselves when it is time, one after the other', async () => {
    await runUntil({ ...deps, everyMs: 1 }, async () => (await runs()).length > 2)
    const { rows } = await sql<{ requested_by: string }>`
      select distinct requested_by from runs`.execute(bench.db)
    expect(rows).to.deep.equal([{ requested_by: 'schedule' }])
  })

  it('begin at once where one is asked for, while the loop rests', async () => {
    const bell = createBells().of('runs')
    let isAtRest = false
    const sleep = async (_ms: number, signal: AbortSignal): Promise<void> => {
      isAtRest = true
      if (!signal.aborted) await once(signal, 'abort')
    }
    const stopper = new AbortController()
    const resting = { ...deps, ...MINUTELY, bell, clock: { ...deps.clock, sleep } }
    const running = createRuns(resting).run(stopper.signal)
    await until(async () => isAtRest && hasEnded((await runs())[0]))
    await requestRun(deps, { chainId: deps.chainId, requestedBy: 'user:1' })
    bell.ring()
    const late = Date.now() + 20_000
    await until(async () => hasEnded((await runs())[1]) || Date.now() > late)
    stopper.abort()
    await running
    expect(hasEnded((await runs())[1])).to.equal(true)
  })

  it('begin more seldom where they take long', async () => {
    expect(await pauseAfter({ tookMs: 30_000, pollMs: 1_000 })).to.be.within(270, 280)
  })

  it('begin once a day where they take many hours', async () => {
    const pollMs = 600_000
    expect(await pauseAfter({ tookMs: 5 * 3_600_000, pollMs })).to.be.within(86_400, 87_600)
  })

  /** The seconds between a run that took so long and the next one. */
  const pauseAfter = async ({ tookMs, pollMs }: { tookMs: number; pollMs: number }) => {
    const clock = createJumpingClock()
    const look: RunsDeps['examiner']['look'] = (signal) => {
      clock.advance(tookMs)
      return deps.examiner.look(signal)
    }
    const examiner = { ...deps.examiner, look }
    const timed = { ...deps, clock, ...MINUTELY, pollMs, examiner }
    await runUntil(timed, async () => (await runs()).length > 1)
    const [first, second] = await runs()
    return second!.created - first!.ended!
  }

  it('do not wait for the time that a stopped run lay still', async () => {
    const clock = createJumpingClock()
    const stopper = new AbortController()
    const look: RunsDeps['examiner']['look'] = async (signal) => {
      stopper.abort()
      return deps.examiner.look(signal)
    }
    const examiner = { ...deps.examiner, look }
    await createRuns({ ...deps, clock, ...MINUTELY, examiner }).run(stopper.signal)
    clock.advance(10 * 3_600_000)
    await runUntil({ ...deps, clock, ...MINUTELY }, async () => (await runs()).length > 1)
    const [first, second] = await runs()
    expect(first!.ended! - first!.created).to.be.at.least(36_000)
    expect(second!.created - first!.ended!).to.be.at.most(60)
  })

  /** All of them, with their times in seconds. */
  const runs = async () => {
    const { rows } = await sql<{ created: number; ended: number | null }>`
      select extract(epoch from created_at)::integer as created,
        extract(epoch from ended_at)::integer as ended
      from runs order by id`.execute(bench.db)
    return rows
  }
}).timeout(120_000)

async function runUntil(deps: RunsDeps, holds: () => Promise<boolean>): Promise<void> {
  const stopper = new AbortController()
  const done = createRuns(deps).run(stopper.signal)
  await until(holds)
  stopper.abort()
  await done
}
