import { createInterface } from 'node:readline'

import { BaseError } from '../../base/errors.ts'
import { createSimulatedBank } from './bank.ts'
import { createSimulatedCard } from './card.ts'
import { serveSimulated, type Simulated } from './serve.ts'
import { createSimulatedWallet } from './wallet.ts'
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
type Party = { simulated: Simulated; tell?: (news: ParentMessage) => void }
type Settings = Record<string, unknown> & { port?: number; folder?: string; dayMs?: number }

const webhooks = createWebhookSender()
let ownUrl = ''

const PARTIES: Readonly<Record<string, (settings: Settings) => Party>> = {
  bank: (settings) => ({
    simulated: createSimulatedBank({
      key: textOf(settings, 'key'),
      accountId: textOf(settings, 'accountId'),
      now: Date.now,
      dayMs: settings.dayMs ?? 86_400_000,
      folder: settings.folder,
    }),
  }),
  card: (settings) => ({
    simulated: createSimulatedCard({
      key: textOf(settings, 'key'),
      webhookSecret: textOf(settings, 'webhookSecret'),
      now: Date.now,
      dayMs: settings.dayMs ?? 86_400_000,
      webhooks,
      folder: settings.folder,
    }),
    tell: webhooks.tell,
  }),
  wallet: (settings) => ({
    simulated: createSimulatedWallet({
      clientId: textOf(settings, 'clientId'),
      clientSecret: textOf(settings, 'clientSecret'),
      webhookId: textOf(settings, 'webhookId'),
      now: Date.now,
      dayMs: settings.dayMs ?? 86_400_000,
      webhooks,
      folder: settings.folder,
      url: () => ownUrl,
    }),
    tell: webhooks.tell,
  }),
}

await run()

async function run(): Promise<void> {
  const lines = createInterface({ input: process.stdin })
  const settings = JSON.parse(settingsText ?? (await firstLine(lines))) as Settings
  const make = PARTIES[name]
  if (make === undefined) throw new RangeError(`Name one of ${Object.keys(PARTIES).join(', ')}.`)
  const party = make(settings)
  const server = await serveSimulated(party.simulated, { port: settings.port ?? 0 })
  ownUrl = server.url
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
  const end = (): void => void server.close().then(() => process.exit(0))
  process.on('SIGTERM', end)
  if (settingsText !== undefined) {
    if (typeof settings['webhookUrl'] === 'string') party.tell?.(settings as ParentMessage)
    process.on('SIGINT', end)
    lines.close()
    return
  }
  // A terminal sends Ctrl-C to all: whoever started us says when it is over.
  process.on('SIGINT', () => undefined)
  lines.on('line', (line) => party.tell?.(JSON.parse(line) as ParentMessage))
  lines.on('close', end)
}

async function firstLine(lines: NodeJS.EventEmitter): Promise<string> {
  return new Promise((resolve) => {
    lines.once('line', resolve)
    lines.once('close', () => process.exit(0))
  })
}

function textOf(settings: Settings, field: string): string {
  const value = settings[field]
  if (typeof value !== 'string')
    throw new BaseError(`The settings lack ${field}.`, { code: 'settings_invalid' })
  return value
}
