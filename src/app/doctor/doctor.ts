import { configOf, parseConfig, ConfigError, type Config } from '../../base/config.ts'
import { findRunning } from '../../base/ready.ts'
import { requireTrustedProviders } from '../trusted-providers.ts'
import { checkChain, type FoundChain } from './chain.ts'
import { checkContracts } from './contracts.ts'
import { checkDatabase } from './database.ts'
import { DOCTOR_PARTS, problemOf, type DoctorFinding, type Report } from './finding.ts'
import { checkSigners } from './signers.ts'
import { checkWebhooks } from './webhooks.ts'

/** What to examine, besides the settings. */
export type DoctorOptions = {
  env: Readonly<Record<string, string | undefined>>
  /** A receiver of webhooks to connect to. */
  webhookUrl?: string | undefined
  signal: AbortSignal
}

/**
 * Examines everything that a start needs, in the order of the parts. It writes nothing, and it
 * continues after a problem, so that one run finds all of them.
 */
export async function examine(options: DoctorOptions): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = []
  const reporter =
    (part: DoctorFinding['part'], chain?: string): Report =>
    (finding) =>
      void findings.push({ part, ...(chain !== undefined && { chain }), ...finding })
  const config = checkConfiguration(options.env, reporter('configuration'))
  if (config === undefined) return findings
  const { signal } = options
  const clock = reporter('clock')
  const [usual] = await Promise.all(
    config.chains.map((settings) => {
      const own = configOf(config, settings)
      // One chain goes without a name.
      const name = config.chains.length > 1 ? settings.name : undefined
      const of = (part: DoctorFinding['part']): Report => reporter(part, name)
      return checkOneChain({ config: own, signal, of })
    }),
  )
  await Promise.all([
    checkDatabase({ config, chain: usual, signal, report: reporter('database'), clock }),
    checkWebhooks({ ...options, config, report: reporter('webhooks') }),
  ])
  return findings.toSorted((a, b) => DOCTOR_PARTS.indexOf(a.part) - DOCTOR_PARTS.indexOf(b.part))
}

/** The nodes of a chain, what is on it, and what its signers have there. */
async function checkOneChain(asking: {
  config: Config
  signal: AbortSignal
  of: (part: DoctorFinding['part']) => Report
}): Promise<FoundChain | undefined> {
  const { of, ...rest } = asking
  const chain = await checkChain({ ...rest, report: of('chain'), clock: of('clock') })
  await Promise.all([
    chain && checkContracts({ ...rest, chain, report: of('contracts') }),
    checkSigners({ ...rest, chain, report: of('signers') }),
  ])
  return chain
}

function checkConfiguration(env: DoctorOptions['env'], report: Report): Config | undefined {
  let config: Config
  try {
    config = parseConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const message of error.problems) {
      report({ status: 'problem', message, remedy: 'Correct or unset the variable.' })
    }
    return undefined
  }
  const isSandbox = config.environment === 'sandbox'
  report({
    status: 'ok',
    message: `the settings are valid; the environment is ${config.environment}`,
  })
  if (findRunning(config.dataFolder) !== undefined) {
    report({
      status: 'warning',
      message: `a program runs on the data folder ${config.dataFolder}`,
      remedy: 'Give each process its own folder: set QUITTANCE_DATA.',
    })
  }
  if (!isSandbox) checkProduction(config, report)
  return config
}

function checkProduction(config: Config, report: Report): void {
  if (config.databaseUrl === undefined) {
    report({
      status: 'problem',
      message: 'DATABASE_URL is not set, and the embedded database can lose commits in a power cut',
      remedy: 'Set DATABASE_URL to a PostgreSQL server.',
    })
  }
  try {
    for (const chain of config.chains) {
      const warnings = requireTrustedProviders(configOf(config, chain))
      for (const message of warnings) report({ status: 'warning', message })
    }
  } catch (error) {
    report(problemOf(error))
  }
  if (config.rails.publicUrl === undefined) {
    report({
      status: 'warning',
      message:
        'QUITTANCE_PUBLIC_URL is not set, so checkout and receipt pages have a local address',
      remedy: 'Set QUITTANCE_PUBLIC_URL to the address that customers use.',
    })
  }
  if (config.statusPort === undefined) {
    report({
      status: 'warning',
      message: 'QUITTANCE_STATUS_PORT is not set, so nothing can monitor a `work` process',
      remedy: 'Set QUITTANCE_STATUS_PORT on each `work` process.',
    })
  }
}
