import { createInterface } from 'node:readline'

import { BaseError } from '../../base/errors.ts'
import { PARTIES, PARTY_KINDS, type Party, type PartyKind } from '../../base/parties.ts'
import { SIMULATORS } from '../gateways.ts'
import { serveSimulated, type Simulated, type SimulatorGround } from './serve.ts'
import { createWebhookSender } from './webhooks.ts'

/**
 * One simulated party as a program of its own:
 *
 *     node program.ts bank '{"port": 9001, "key": "key", "accountId": "account_1"}'
 *
 * Without settings on the command line they come as the first line of the standard input, which
 * ties the program to the one that started it: at the end of the input it ends.
 */
const [name = '', settingsText] = process.argv.slice(2)

/** What the party is told while it runs, such as where its webhooks go. */
type ParentMessage = { webhookUrl?: string }
type Settings = Record<string, string> & {
  port?: number
  folder?: string
  dayMs?: number
  webhookUrl?: string
}

await run()

async function run(): Promise<void> {
  const lines = createInterface({ input: process.stdin })
  const settings = JSON.parse(settingsText ?? (await firstLine(lines))) as Settings
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
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
  const end = (): void => void server.close().then(() => process.exit(0))
  process.on('SIGTERM', end)
  if (settingsText !== undefined) {
    webhooks.tell(settings)
    process.on('SIGINT', end)
    lines.close()
    return
  }
  // A terminal sends Ctrl-C to all: whoever started us says when it is over.
  process.on('SIGINT', () => undefined)
  lines.on('line', (line) => webhooks.tell(JSON.parse(line) as ParentMessage))
  lines.on('close', end)
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
