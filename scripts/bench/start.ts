/** How long a start takes: the first, which makes its data, and the next, beside its parts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startAnvil } from '../../src/chain/embedded/anvil.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { runProgram } from '../../test/fixtures/program.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'
const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'))
try {
  const data = join(folder, 'data')
  const first = await timed(() => start(data))
  const next = await timed(() => start(data))
  const floor = await timed(startParts)
  console.log({ firstSeconds: first, nextSeconds: next, partsSeconds: floor })
  const parts = { what: 'an embedded database and chain, opened one by one', value: floor }
  tellRows('start', [
    { what: 'first start, until it serves', unit: 's', ours: first },
    { what: 'next start, until it serves', unit: 's', ours: next, floor: parts },
  ])
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function timed(work: () => Promise<() => Promise<void>>): Promise<number> {
  const startedAt = performance.now()
  const stop = await work()
  const seconds = (performance.now() - startedAt) / 1000
  await stop()
  return Math.round(seconds * 100) / 100
}

async function start(data: string): Promise<() => Promise<void>> {
  const program = runProgram(['up'], { QUITTANCE_DATA: data, PORT: '0' })
  await program.untilReady()
  return async () => {
    program.kill('SIGTERM')
    await program.ended
  }
}

/** What neither we nor anybody else can start without. */
async function startParts(): Promise<() => Promise<void>> {
  const database = await openDatabase({ folder: join(folder, 'data', 'database') })
  const at = join(folder, 'chain')
  const chain = await startAnvil({ folder: at, blockMs: 1000, mnemonic: MNEMONIC })
  return async () => {
    await chain.stop()
    await database.close()
  }
}
