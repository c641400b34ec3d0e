import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import { systemClock, type Clock } from '../../base/clock.ts'
import { BaseError, messageOf } from '../../base/errors.ts'
import { callRpc } from '../rpc/rpc.ts'

/**
 * anvil can save its state by itself, but overwrites the old file: if it is killed meanwhile, half
 * a chain remains. This function writes each state to a new file and then replaces the old file.
 */
export async function saveState(options: { folder: string; url: string }): Promise<void> {
  const dump = await callRpc({
    url: options.url,
    method: 'anvil_dumpState',
    timeoutMs: 30_000,
    // Our own process: what it holds must be saved, however much it is.
    maxAnswerBytes: MAX_STATE_BYTES,
  })
  if (typeof dump !== 'string' || !dump.startsWith('0x')) throw new StateDamagedError('no dump')
  const file = stateFile(options.folder)
  await writeFile(`${file}.new`, Buffer.from(dump.slice(2), 'hex'))
  await rename(`${file}.new`, file)
}

/** Unpacks the saved state into a file that anvil can load; undefined for a new chain. */
export function restoreState(folder: string): string | undefined {
  const file = stateFile(folder)
  if (!existsSync(file)) return undefined
  const unpacked = join(folder, 'loading.json')
  try {
    writeFileSync(unpacked, gunzipSync(readFileSync(file)))
    return unpacked
  } catch (error) {
    throw new StateDamagedError(messageOf(error), error)
  }
}

/**
 * Saves every five seconds, or less often once a save takes so long that it would cost more than a
 * hundredth of the time, in which anvil answers nobody. It outlives a program that is killed, and
 * is asked for the rest then.
 */
export function keepState(options: { folder: string; url: string; clock?: Pick<Clock, 'sleep'> }): {
  stop: () => Promise<void>
} {
  const { clock = systemClock } = options
  const controller = new AbortController()
  const { signal } = controller
  const done = (async () => {
    let pauseMs = PAUSE_MS
    for (;;) {
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) return
      const startedAt = performance.now()
      // A chain that ended meanwhile is noticed by its owner; the last good state stays.
      await saveState(options).catch(() => undefined)
      pauseMs = Math.max(PAUSE_MS, (performance.now() - startedAt) * 100)
    }
  })()
  return {
    async stop() {
      controller.abort()
      await done
    },
  }
}

function stateFile(folder: string): string {
  return join(folder, 'state.json.gz')
}

const PAUSE_MS = 5000

const MAX_STATE_BYTES = 500 * 1024 * 1024

class StateDamagedError extends BaseError {
  constructor(reason: string, cause?: unknown) {
    super(
      `The saved embedded chain cannot be read (${reason}). ` +
        'Restore the data folder from a backup, or set QUITTANCE_DATA to a new one.',
      { code: 'chain_state_damaged', cause },
    )
  }
}
