/**
 * Mixed traffic at an even rate against one `up`, for as long as asked: `npm run soak -- --minutes
 * 60`. Without `--rate` it measures how much this machine can do, and asks for half of it. Each
 * minute it prints memory, open files and latency, which have to stay flat. `--data` names a folder
 * that is kept, so that another run goes on with what the last one left.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { isRunning } from '../src/base/process.ts'
import type { ReadyFacts } from '../src/base/ready.ts'
import { SCOPES } from '../src/domain/access.ts'
import { addressFrom } from '../test/engines/sim/world.ts'
import { runProgram } from '../test/fixtures/program.ts'
import { createRandom } from '../test/fixtures/random.ts'
import { positive, scriptCommand, wholeNumber } from '../test/fixtures/script.ts'

const about =
  'Sends mixed traffic at an even rate to one `up`, and watches memory, open files and latency.'
const { minutes, seed, ...given } = scriptCommand('soak', about)
  .option('--minutes <count>', 'for how long', positive, 60)
  .option('--rate <count>', 'requests a second; without it, half of what is measured', positive)
  .option('--seed <number>', 'which requests', wholeNumber, 1)
  .option('--data <folder>', 'a folder that is kept, for another run to go on with')
  .parse()
  .opts<{ minutes: number; rate?: number; seed: number; data?: string }>()
/** A key may ask a thousand times a minute in each group. */
const KEYS = 64
const AT_ONCE = 16
const MEASURED_MS = 30_000

type Sample = { minute: number; rssMb: number; files: number; p50Ms: number; p99Ms: number }
type Traffic = { times: number[]; failures: string[]; asked: number }
type Platform = { facts: ReadyFacts; keys: readonly string[] }

const random = createRandom(`soak ${seed}`)

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-soak-'))
  const program = runProgram(['up'], {
    QUITTANCE_DATA: given.data ?? join(folder, 'data'),
    PORT: '0',
  })
  try {
    const facts = await program.untilReady()
    const platform = { facts, keys: await makeKeys(facts) }
    const rate = given.rate ?? (await halfOfCapacity(platform))
    const samples: Sample[] = []
    for (let minute = 1; minute <= minutes; minute++) {
      const traffic = await oneMinute(platform, rate)
      if (!isRunning(facts.pid)) throw new Error(`it ended by itself: ${program.output().stderr}`)
      samples.push({ minute, ...measure(facts.pid, traffic) })
      console.log({ ...samples.at(-1), failures: traffic.failures.length, asked: traffic.asked })
      tellFailures(traffic)
    }
    console.log(JSON.stringify({ rate, ...growth(samples) }))
  } finally {
    program.kill('SIGTERM')
    await program.ended
    rmSync(folder, { recursive: true, force: true })
  }
}

async function makeKeys({ url, groupB, admin }: ReadyFacts): Promise<string[]> {
  const keys = Array.from({ length: KEYS }, async (_, index) => {
    const scopes = SCOPES.filter((scope) => scope !== 'admin')
    const answer = await fetch(`${url}/api/admin/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin?.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ user_id: groupB?.userId, name: `soak ${index}`, scopes }),
    })
    const body = (await answer.json()) as { api_key?: string }
    if (body.api_key === undefined) throw new Error(`no key: ${JSON.stringify(body)}`)
    return body.api_key
  })
  return Promise.all(keys)
}

/** What several callers get who ask again as soon as they are answered. */
async function halfOfCapacity(platform: Platform): Promise<number> {
  const traffic: Traffic = { times: [], failures: [], asked: 0 }
  const startedAt = performance.now()
  const keepAsking = async (): Promise<void> => {
    while (performance.now() - startedAt < MEASURED_MS) await ask(platform, traffic)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, keepAsking))
  tellFailures(traffic)
  const capacity = (traffic.asked * 1000) / (performance.now() - startedAt)
  console.log({ capacity: Math.round(capacity), rate: Math.round(capacity / 2) })
  return Math.round(capacity / 2)
}

function tellFailures({ failures }: Traffic): void {
  if (failures.length === 0) return
  console.log(failures.slice(0, 3).join('\n'))
  process.exitCode = 1
}

/** Each request has its time, and those that are late follow at once. */
async function oneMinute(platform: Platform, rate: number): Promise<Traffic> {
  const traffic: Traffic = { times: [], failures: [], asked: 0 }
  const startedAt = performance.now()
  const open = new Set<Promise<void>>()
  for (let due = 0; due < 60_000; due += 1000 / rate) {
    await sleep(Math.max(0, due - (performance.now() - startedAt)))
    const one = ask(platform, traffic).finally(() => open.delete(one))
    open.add(one)
  }
  await Promise.all(open)
  return traffic
}

/** One request of the mix: four reads of five, and money that moves on chain and in the ledger. */
async function ask({ facts, keys }: Platform, traffic: Traffic): Promise<void> {
  const [path, body] = random.pick(MIX)()
  const key = keys[traffic.asked % keys.length]
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

type Request = () => [path: string, body?: object]

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
