import { createInterface } from 'node:readline'

import { BaseError } from '../../base/errors.ts'
import { PARTIES, PARTY_KINDS, type Party, type PartyKind } from '../../base/parties.ts'
import { SIMULATORS } from '../gateways.ts'
import {
  serveSimulated,
  type Simulated,
  type SimulatorGround,
  type SimulatorServer,
} from './serve.ts'
import { createWebhookSender, type WebhookSender } from './webhooks.ts'

/**
 * Simulated parties as a program of their own. One of them by hand:
 *
 *     node program.ts bank '{"port": 9001, "key": "key", "accountId": "account_1"}'
 *
 * Without arguments the settings of all come as the first line of the standard input, by the name
 * of each, which ties the program to the one that started it: at the end of the input it ends.
 */
const [only, onlySettings = ''] = process.argv.slice(2)

/** What a party receives while it runs, such as where its webhooks go. */
type ParentMessage = { webhookUrl?: string }
type Settings = Record<string, string> & {
  port?: number
  folder?: string
  dayMs?: number
  webhookUrl?: string
}

type Started = SimulatorServer & { webhooks: WebhookSender }

await (only === undefined ? runForParent() : runAlone(only))

async function runAlone(name: string): Promise<void> {
  const settings = JSON.parse(onlySettings) as Settings
  const party = await start(name, settings)
  print({ url: party.url })
  party.webhooks.tell(settings)
  const end = (): void => void party.close().then(() => process.exit(0))
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
}

async function runForParent(): Promise<void> {
  const lines = createInterface({ input: process.stdin })
  const wanted = JSON.parse(await firstLine(lines)) as Record<string, Settings>
  const parties = new Map<string, Started>()
  for (const [name, settings] of Object.entries(wanted)) {
    parties.set(name, await start(name, settings))
  }
  print(Object.fromEntries([...parties].map(([name, { url }]) => [name, url])))
  const end = (): void => {
    void Promise.all([...parties.values()].map((party) => party.close())).then(() =>
      process.exit(0),
    )
  }
  process.on('SIGTERM', end)
  // A terminal sends Ctrl-C to every process, but our parent decides when to end.
  process.on('SIGINT', () => undefined)
  lines.on('line', (line) => {
    const news = Object.entries(JSON.parse(line) as Record<string, ParentMessage>)
    for (const [name, message] of news) parties.get(name)?.webhooks.tell(message)
  })
  lines.on('close', end)
}

function print(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

async function start(name: string, settings: Settings): Promise<Started> {
  const kind = PARTY_KINDS.find((one) => one === name)
  if (kind === undefined) throw new RangeError(`Name one of ${PARTY_KINDS.join(', ')}.`)
  for (const field of Object.keys(PARTIES[kind].settings)) {
    if (typeof settings[field] === 'string') continue
    throw new BaseError(`The settings lack ${field}.`, { code: 'settings_invalid' })
  }
  const webhooks = createWebhookSender()
  let ownUrl = ''
  const simulated = await simulate(kind, settings, { webhooks, url: () => ownUrl })
  const server = await serveSimulated(simulated, { port: settings.port ?? 0 })
  ownUrl = server.url
  return { ...server, webhooks }
}

async function firstLine(lines: NodeJS.EventEmitter): Promise<string> {
  return new Promise((resolve) => {
    lines.once('line', resolve)
    lines.once('close', () => process.exit(0))
  })
}

async function simulate<Kind extends PartyKind>(
  kind: Kind,
  settings: Settings & Omit<Party<Kind>, 'url'>,
  own: Pick<SimulatorGround, 'webhooks' | 'url'>,
): Promise<Simulated> {
  const create = await SIMULATORS[kind]()
  const { dayMs = 86_400_000, folder } = settings
  const ground = { ...own, now: Date.now, dayMs, folder }
  return create({ ...settings, ...ground })
}
