/**
 * Mixed traffic at an even rate against one `up`, for as long as asked: `npm run soak -- --minutes
 * 60 --rate 20`. Each minute it prints memory, open files and latency, which have to stay flat.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import type { ReadyFacts } from '../src/base/ready.ts'
import { runProgram } from '../test/support/program.ts'
import { createRandom } from '../test/support/random.ts'
import { addressFrom } from '../test/support/sim/world.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '15' },
    seed: { type: 'string', default: '1' },
  },
})
const MINUTES = Number(values.minutes)
/** In requests a second; a key may ask a thousand times a minute. */
const RATE = Number(values.rate)

type Sample = { minute: number; rssMb: number; files: number; p50Ms: number; p99Ms: number }
type Traffic = { times: number[]; failures: string[]; asked: number }

const random = createRandom(`soak ${values.seed}`)

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-soak-'))
  const program = runProgram(['up'], { QUITTANCE_DATA: join(folder, 'data'), PORT: '0' })
  try {
    const facts = await program.untilReady()
    const samples: Sample[] = []
    for (let minute = 1; minute <= MINUTES; minute++) {
      const traffic = await oneMinute(facts)
      if (traffic.failures.length > 0) console.log(traffic.failures.slice(0, 3).join('\n'))
      samples.push({ minute, ...measure(facts.pid, traffic) })
      console.log({ ...samples.at(-1), failures: traffic.failures.length, asked: traffic.asked })
      if (traffic.failures.length > 0) process.exitCode = 1
    }
    console.log(JSON.stringify({ rate: RATE, ...growth(samples) }))
  } finally {
    program.kill('SIGTERM')
    await program.ended
    rmSync(folder, { recursive: true, force: true })
  }
}

async function oneMinute(facts: ReadyFacts): Promise<Traffic> {
  const traffic: Traffic = { times: [], failures: [], asked: 0 }
  const endsAt = performance.now() + 60_000
  const open = new Set<Promise<void>>()
  while (performance.now() < endsAt) {
    const one = ask(facts, traffic).finally(() => open.delete(one))
    open.add(one)
    await sleep(1000 / RATE)
  }
  await Promise.all(open)
  return traffic
}

/** One request of the mix: four reads of five, and money that moves on chain and in the ledger. */
async function ask(facts: ReadyFacts, traffic: Traffic): Promise<void> {
  const [path, body] = random.pick(MIX)(facts)
  const isGroupA = path.startsWith('/v1')
  const key = isGroupA ? (facts.groupA?.apiKey ?? '') : (facts.groupB?.apiKey ?? '')
  const startedAt = performance.now()
  traffic.asked += 1
  try {
    const answer = await fetch(`${facts.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    })
    const text = await answer.text()
    if (!answer.ok) traffic.failures.push(`${path}: ${answer.status} ${text}`)
  } catch (error) {
    traffic.failures.push(`${path}: ${String(error)}`)
  }
  traffic.times.push(performance.now() - startedAt)
}

type Request = (facts: ReadyFacts) => [path: string, body?: object]

const MIX: readonly Request[] = [
  () => ['/api/transactions?limit=20'],
  () => ['/api/transactions?status=completed&type=settlement'],
  () => ['/api/blockchain/balance'],
  () => ['/api/events?limit=50'],
  () => ['/v1/wallets'],
  () => ['/v1/transfers'],
  () => ['/v1/payments'],
  () => ['/api/transactions?offset=100'],
  () => [
    '/api/blockchain/transactions',
    {
      to_address: addressFrom(`soak ${random.below(1_000)}`),
      amount: '0.000001',
      description: 'soak',
      use_contract: random.chance(0.5),
    },
  ],
  () => [
    '/v1/payments',
    {
      amount: '1.00',
      currency: 'USD',
      destination: { type: 'wire', name: 'Soak', addressLine1: '1 Main Street' },
    },
  ],
]

function measure(pid: number, { times }: Traffic): Omit<Sample, 'minute'> {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
  return {
    rssMb: Math.round((pages * 4096) / 2 ** 20),
    files: readdirSync(`/proc/${pid}/fd`).length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

/** The last quarter beside the second one; the first one warms up. */
function growth(samples: readonly Sample[]): Record<string, number> {
  const quarter = Math.max(1, Math.floor(samples.length / 4))
  const mean = (part: readonly Sample[], field: keyof Sample) =>
    part.reduce((sum, sample) => sum + sample[field], 0) / part.length
  const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)]
  const fields = ['rssMb', 'files', 'p50Ms', 'p99Ms'] as const
  return Object.fromEntries(
    fields.map((field) => [field, Number((mean(late, field) / mean(early, field)).toFixed(2))]),
  )
}

await main()
