import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '../base/config.ts'
import { makeFolder } from '../base/lock.ts'
import { PARTIES, PARTY_KINDS, type PartyKind } from '../base/parties.ts'
import type { RailsConfig } from '../base/rails-config.ts'
import type { Shutdown } from '../base/shutdown.ts'
import { startSimulators as startProgram } from '../rails/simulators/start.ts'

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
  const secretOf = createSecrets(folder)
  const usual: Record<string, object | undefined> = { ...config.rails.usual }
  const simulated = PARTY_KINDS.filter((kind) => usual[kind] === undefined).map((kind) => {
    return { kind, at: PARTIES[kind].simulator, settings: settingsOf(kind, secretOf) }
  })
  const wanted = simulated.map(({ kind, at, settings }) => {
    const port = config.port === 0 ? 0 : at.port
    return [kind, { folder, dayMs: SANDBOX_DAY_MS, port, ...settings }] as const
  })
  const started = await startProgram(Object.fromEntries(wanted))
  shutdown.add('the simulated parties', started.stop)
  const named = simulated.map(({ kind, at, settings }) => {
    const url = started.urls[kind] ?? ''
    usual[kind] = { ...settings, url }
    return [at.name, url] as const
  })
  return {
    rails: { ...config.rails, usual },
    urls: Object.fromEntries(named),
    announce(url) {
      // The simulated ones stand for those without a name.
      for (const { id, kind, party } of config.rails.gateways) {
        if (party !== undefined) continue
        started.tell({ [kind]: { webhookUrl: `${url}/webhooks/gateways/${id}` } })
      }
    },
  }
}

/** A secret of its own where the party has one, and what it always is elsewhere. */
function settingsOf(kind: PartyKind, secretOf: (name: string) => string): Record<string, string> {
  const entries = Object.entries(PARTIES[kind].settings)
  return Object.fromEntries(
    entries.map(([field, { simulated, isSecret }]) => {
      return [field, isSecret ? `${simulated}${secretOf(`${kind}.${field}`)}` : simulated]
    }),
  )
}

/** Outcomes that take days are seen in seconds. */
export const SANDBOX_DAY_MS = 2000

/** Kept, so that the parties know us again after a restart. */
function createSecrets(folder: string): (name: string) => string {
  const file = join(folder, 'secrets.json')
  const known = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)
    : {}
  return (name) => {
    const secret = known[name]
    if (secret !== undefined) return secret
    makeFolder(folder)
    const made = (known[name] = randomBytes(24).toString('base64url'))
    // A start that is killed leaves no half of a file behind.
    writeFileSync(`${file}.new`, JSON.stringify(known), { mode: 0o600 })
    renameSync(`${file}.new`, file)
    return made
  }
}
