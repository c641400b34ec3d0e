/** Fuzzes every operation of a server of its own: `npm run fuzz:api -- --requests 100000`. */
import { messageOf } from '../src/base/errors.ts'
import { fuzz } from '../test/engines/fuzz/fuzz.ts'
import { startFuzzTarget } from '../test/engines/fuzz/start.ts'
import { positive, scriptCommand, wholeNumber } from '../test/fixtures/script.ts'
import { dropOwnDatabases } from '../test/fixtures/store/database.ts'

const about =
  'Sends what the served OpenAPI documents allow, and what they do not, to a server of its own.'
const { requests, seed } = scriptCommand('fuzz:api', about)
  .option('--requests <count>', 'how many', positive, 10_000)
  .option('--seed <number>', 'which ones', wholeNumber, 1)
  .parse()
  .opts<{ requests: number; seed: number }>()

// Each key may send a thousand requests a minute; one in some hundred is enough.
const target = await startFuzzTarget({ users: Math.ceil(requests / 400) + 8 })
const startedAt = performance.now()
const report = await fuzz({
  url: target.url,
  seed,
  requests,
  callers: target.callers,
  onProgress: (sent) => process.stderr.write(`\r${sent} of ${requests} `),
}).catch((error: unknown) => ({ statuses: new Map<string, never>(), findings: [messageOf(error)] }))
const seconds = (performance.now() - startedAt) / 1000
const { code, stderr } = await target.stop()
await dropOwnDatabases()
const { statuses, findings } = report

process.stderr.write('\r')
for (const [name, counts] of [...statuses].toSorted(([a], [b]) => a.localeCompare(b))) {
  const shown = [...counts].toSorted(([a], [b]) => a - b).map((pair) => pair.join(' × '))
  console.log(`${name.padEnd(48)} ${shown.join(', ')}`)
}
for (const finding of findings) console.log(`\n${finding}`)
if (code !== 0) console.log(`\nthe program ended with ${String(code)}: ${stderr.slice(-1000)}`)
console.log(
  `\n${requests} requests, seed ${seed}, ${seconds.toFixed(0)} s: ${findings.length} wrong`,
)
process.exitCode = findings.length === 0 && code === 0 ? 0 : 1
