import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '../base/config.ts'
import type { RailsConfig } from '../base/rails-config.ts'
import type { Shutdown } from '../base/shutdown.ts'
import { startSimulator, type SimulatorProcess } from '../rails/simulators/start.ts'

export type Simulators = {
  /** What is configured, with a simulated party wherever there is none. */
  rails: RailsConfig
  /** Tells the simulated parties where their webhooks go. */
  announce: (url: string) => void
  /** Where they are, for those who play the payer. */
  urls: Record<string, string>
}

/** In the sandbox every outside party that is not configured is a program of our own. */
export async function startSimulators(options: {
  config: Config
  shutdown: Shutdown
}): Promise<Simulators> {
  const { config, shutdown } = options
  const folder = join(config.dataFolder, 'rails')
  const secrets = readSecrets(folder)
  const start = async (name: string, settings: object): Promise<SimulatorProcess> => {
    const simulator = await startSimulator(name, {
      folder,
      dayMs: SANDBOX_DAY_MS,
      port: config.port === 0 ? 0 : PORTS[name],
      ...settings,
    })
    shutdown.add(`the simulated ${name}`, simulator.stop)
    return simulator
  }
  const bank = { key: secrets.bankKey, accountId: 'account_sandbox' }
  const stripe = { key: `sk_test_${secrets.stripeKey}`, webhookSecret: secrets.stripeWebhookSecret }
  const paypal = {
    clientId: 'sandbox',
    clientSecret: secrets.paypalSecret,
    webhookId: 'WH-sandbox',
  }
  const { rails } = config
  const [atBank, atCard, atWallet] = await Promise.all([
    rails.bank ? undefined : start('bank', bank),
    rails.stripe ? undefined : start('card', stripe),
    rails.paypal ? undefined : start('wallet', paypal),
  ])
  return {
    rails: {
      ...rails,
      bank: rails.bank ?? { ...bank, url: atBank?.url ?? '' },
      stripe: rails.stripe ?? { ...stripe, url: atCard?.url ?? '' },
      paypal: rails.paypal ?? { ...paypal, url: atWallet?.url ?? '' },
    },
    urls: {
      ...(atCard && { card: atCard.url }),
      ...(atWallet && { wallet: atWallet.url }),
      ...(atBank && { bank: atBank.url }),
    },
    announce(url) {
      const hooks = `${url}/webhooks/gateways`
      // The simulated ones stand for those without a name.
      for (const { id, kind, party } of rails.gateways) {
        const simulator = { card: atCard, wallet_checkout: atWallet, crypto_checkout: undefined }
        if (party === undefined) simulator[kind]?.tell({ webhookUrl: `${hooks}/${id}` })
      }
    },
  }
}

/** Outcomes that take days are seen in seconds. */
export const SANDBOX_DAY_MS = 2000

const PORTS: Readonly<Record<string, number>> = { card: 9101, wallet: 9102, bank: 9103 }

type Secrets = Record<(typeof SECRET_NAMES)[number], string>

const SECRET_NAMES = ['bankKey', 'stripeKey', 'stripeWebhookSecret', 'paypalSecret'] as const

/** Made once, so that the parties know us again after a restart. */
function readSecrets(folder: string): Secrets {
  const file = join(folder, 'secrets.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Secrets
  mkdirSync(folder, { recursive: true })
  const made = SECRET_NAMES.map((name) => [name, randomBytes(24).toString('base64url')])
  const secrets = Object.fromEntries(made) as Secrets
  // A start that is killed leaves no half of a file behind.
  writeFileSync(`${file}.new`, JSON.stringify(secrets), { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return secrets
}
