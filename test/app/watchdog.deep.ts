import { join } from 'node:path'

import { expect } from 'chai'

import { startApp, type App } from '../../src/app.ts'
import { systemClock } from '../../src/base/clock.ts'
import { parseConfig } from '../../src/base/config.ts'
import { createLogger } from '../../src/base/logger.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const LOOPS = [
  'block feed',
  'sender',
  'webhooks',
  'webhooks that failed',
  'charges',
  'wires',
  'checkout',
  'deposits',
  'supply watch',
  'reconciler',
  'signer watch',
]
/** Longer than any loop may stand still. */
const LONG_MS = 11 * 60_000

describe('the loops of a program that runs', () => {
  const { now } = systemClock
  const folder = temporaryFolder()
  const alerts: string[] = []
  let app: App
  let shiftMs = 0

  before(async () => {
    systemClock.now = () => new Date(now().getTime() + shiftMs)
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
    await app.stop()
    systemClock.now = now
    folder.remove()
  })

  const failed = async (): Promise<string[]> => {
    const answer = await fetchInTurn(`${app.facts.url}/readyz`)
    const { parts } = (await answer.json()) as { parts: Record<string, { status: string }> }
    const names = Object.keys(parts).filter((name) => parts[name]?.status !== 'ok')
    expect(answer.status).to.equal(names.length === 0 ? 200 : 503)
    return names
  }

  it('fail /readyz by name when they stand still, raise an alert, and get on', async () => {
    await until(async () => (await failed()).length === 0)
    const named = new Set<string>()
    // Right after such a jump, every loop whose last pass was before it has stood still.
    await until(async () => {
      shiftMs += LONG_MS
      for (const name of await failed()) named.add(name)
      return LOOPS.every((loop) => named.has(loop)) && alerts.length > 0
    })
    expect(LOOPS).to.include.members(alerts)
    await until(async () => (await failed()).length === 0)
  })
})
