import { setTimeout as sleep } from 'node:timers/promises'

import { startRawServer, startReceiver } from '../../fixtures/api/receiver.ts'
import { ask, countStatuses, waitUntil, wrongsIn, type Answer } from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Platform } from './platform.ts'

const CANARY = 'what-only-the-receiver-knows'
/** Every way to write the address of this machine, and of what only it reaches. */
const INWARD = [
  'http://127.0.0.1',
  'https://127.0.0.1',
  'https://localhost',
  'https://[::1]',
  'https://2130706433',
  'https://0x7f.1',
  'https://0177.0.0.1',
  'https://[::ffff:127.0.0.1]',
  'https://0.0.0.0',
  'https://10.0.0.1',
  'https://169.254.169.254',
  'https://user:password@127.0.0.1',
]
/** What no server of HTTP answers. */
const ANSWERS = ['HTTP/1.1 000 Nothing', 'HTTP/1.1 099 Low', 'HTTP/1.1 9999 Much', 'no HTTP at all']
const WATCHED_MS = 12_000
/** The sandbox waits for 1, 2, 4 and 8 seconds. */
const MOST_TRIES = 6

export const webhooks: Attack = {
  name: 'webhooks',
  about: 'subscribes addresses inside, and answers webhooks with what is no status of HTTP',
  async run() {
    return [await goInside(), await answerNonsense()]
  },
}

/** Where others reach us, nobody reaches through us what only this machine reaches. */
async function goInside(): Promise<AttackResult> {
  const receiver = await startReceiver()
  const platform = await startPlatform({ payers: 1, env: { HOST: '0.0.0.0' } })
  try {
    const urls = INWARD.map((url) => `${url}:${receiver.port}/hook`)
    const answers: Answer[] = []
    for (const url of urls) answers.push(await subscribe(platform, url))
    await sleep(2_000)
    const taken = urls.filter((_, place) => answers[place]?.status !== 400)
    return {
      tried: 'webhooks to addresses inside, at a sandbox that others reach',
      count: urls.length,
      outcome: `${countStatuses(answers)}; ${receiver.received.length} arrived`,
      wrong: wrongsIn([
        [taken.length > 0, `not refused: ${taken.join(' ')}`],
        [receiver.received.length > 0, `${receiver.received.length} webhooks arrived`],
      ]),
    }
  } finally {
    await platform.stop()
    await receiver.close()
  }
}

async function answerNonsense(): Promise<AttackResult> {
  const platform = await startPlatform({ payers: 1, env: { QUITTANCE_LOG_LEVEL: 'info' } })
  const servers = await Promise.all(
    ANSWERS.map((line) => startRawServer(`${line}\r\nx-told: ${CANARY}\r\n\r\n${CANARY}`)),
  )
  try {
    const made = await Promise.all(servers.map(({ url }) => subscribe(platform, url)))
    const tries = (): number[] => servers.map(({ connections }) => connections())
    const cameMs = await waitUntil(async () => !tries().includes(0), WATCHED_MS)
    await sleep(WATCHED_MS)
    const most = Math.max(...tries())
    const texts = await Promise.all(made.map((one) => deliveriesOf(platform, one)))
    const outcomes = texts.flatMap((text) =>
      [...text.matchAll(/"outcome":"(\w+)"/g)].map(([, outcome]) => outcome),
    )
    const shown = `${texts.join()}${platform.log()}`
    return {
      tried: `webhooks that are answered by ${ANSWERS.map((line) => `"${line}"`).join(', ')}`,
      count: ANSWERS.length,
      outcome:
        `${tries().join(', ')} tries in ${WATCHED_MS / 1000} s, ` +
        `recorded as ${[...new Set(outcomes)].join(', ')}`,
      wrong: wrongsIn([
        [cameMs === undefined, 'not every receiver was called: nothing was tried'],
        [most > MOST_TRIES, `one was called ${most} times`],
        [outcomes.length < ANSWERS.length, 'not every try was recorded'],
        [outcomes.some((outcome) => outcome !== 'unreachable'), 'one counts as reached'],
        [shown.includes(CANARY), 'what the receiver said is shown'],
      ]),
    }
  } finally {
    await platform.stop()
    for (const server of servers) await server.close()
  }
}

function subscribe({ url, payers }: Platform, target: string): Promise<Answer> {
  const path = '/v1/notifications/subscriptions'
  return ask(url, { path, key: payers[0]?.key ?? '', body: { url: target } })
}

async function deliveriesOf({ url, payers }: Platform, { body }: Answer): Promise<string> {
  const { id } = (body['data'] ?? {}) as { id?: string }
  const path = `/v1/notifications/subscriptions/${id}/deliveries`
  return (await ask(url, { path, key: payers[0]?.key ?? '' })).text
}
