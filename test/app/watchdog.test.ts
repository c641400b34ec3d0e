import { join } from 'node:path'

import { expect } from 'chai'

import { startApp, type App } from '../../src/app.ts'
import { systemClock } from '../../src/base/clock.ts'
import { parseConfig } from '../../src/base/config.ts'
import { createLogger } from '../../src/base/logger.ts'
import { temporaryFolder } from '../support/folder.ts'
import { fillDataFolder } from '../support/prepared-data.ts'
import { until } from '../support/until.ts'

const LOOPS = [
  'sender',
  'webhooks',
  'webhooks that failed',
  'charges',
  'wires',
  'checkout',
  'supply watch',
  'reconciler',
]
/** More than any loop may stand still. */
const LONG_MS = 11 * 60_000

describe('the loops of a program that runs', () => {
  const { now, sleep } = systemClock
  const folder = temporaryFolder()
  const alerts: string[] = []
  let app: App
  let shiftMs = 0
  let hanging: PromiseWithResolvers<void> | undefined

  before(async () => {
    systemClock.now = () => new Date(now().getTime() + shiftMs)
    // A loop that waits for its next pass waits on while all of them hang; the watchdog does not.
    systemClock.sleep = async (ms, signal) => {
      const isWatchdog = new Error().stack?.includes('watchdog.ts') === true
      await sleep(ms, signal)
      if (!isWatchdog && !signal.aborted) await hanging?.promise
    }
    const QUITTANCE_DATA = join(folder.path, 'data')
    fillDataFolder(QUITTANCE_DATA)
    const destination = {
      write(line: string) {
        const { loop, level } = JSON.parse(line) as { loop?: string; level: string }
        if (loop !== undefined && level === 'error') alerts.push(loop)
      },
    }
    app = await startApp({
      config: parseConfig({ PORT: '0', QUITTANCE_BLOCK_MS: '100', QUITTANCE_DATA }),
      role: 'up',
      logger: createLogger({ level: 'warn', destination }),
    })
  })

  after(async () => {
    hanging?.resolve()
    await app.stop()
    Object.assign(systemClock, { now, sleep })
    folder.remove()
  })

  const failed = async (): Promise<string[]> => {
    const answer = await fetch(`${app.facts.url}/readyz`)
    const { parts } = (await answer.json()) as { parts: Record<string, { status: string }> }
    const names = Object.keys(parts).filter((name) => parts[name]?.status !== 'ok')
    expect(answer.status).to.equal(names.length === 0 ? 200 : 503)
    return names
  }

  it('fail /readyz by name while they hang, raise an alert, and get on by themselves', async () => {
    await until(async () => (await failed()).length === 0)
    hanging = Promise.withResolvers()
    // One that was in a pass gets as far as its next wait.
    let names: string[] = []
    await until(async () => {
      shiftMs += LONG_MS
      names = await failed()
      return names.length >= LOOPS.length
    })
    expect(names).to.have.members(LOOPS)
    await until(async () => LOOPS.every((loop) => alerts.includes(loop)))
    hanging.resolve()
    hanging = undefined
    await until(async () => (await failed()).length === 0)
  })
})
