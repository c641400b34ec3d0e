import { Command, InvalidArgumentError } from 'commander'

import type { App, Role } from '../../app.ts'
import { MAX_SANDBOX_CHAINS, sandboxChains } from '../../base/chains/config.ts'
import { parseConfig, type Config } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { createLogger, type Logger } from '../../base/logger.ts'
import type { ReadyFacts } from '../../base/ready.ts'
import { EXIT, createOutput, formatPairs, version, type Output } from '../output.ts'

/** `up`, `serve` and `work` differ in what they start. */
export function roleCommand(role: Role): Command {
  const command = new Command(role)
    .option('--json', 'print the content of ready.json once it serves')
    .action(async (options: { json?: boolean; chains?: number }) => {
      process.exitCode = await run(role, options)
    })
  if (role !== 'up') return command
  return command
    .option('--chains <number>', 'the number of chains that it starts', chainCount)
    .addHelpText('after', UP_HELP)
}

const UP_HELP = `
Settings of a first start, from the environment:
  PORT            the port of the HTTP server (default: 8080; 0 takes any free one)
  QUITTANCE_DATA  the folder for the embedded database and chain (default: .quittance)
  DATABASE_URL    a PostgreSQL server instead of the embedded one
  ETH_RPC_URL     a node, or several with commas, instead of the embedded chain

docs/configuration.md lists all of them.`

/** Runs until a signal or a failure ends it; resolves to the exit code. */
async function run(role: Role, options: { json?: boolean; chains?: number }): Promise<number> {
  const config = withChains(parseConfig(process.env), options.chains)
  const output = createOutput(options)
  const logger = createLogger({ level: config.logLevel ?? (role === 'up' ? 'warn' : 'info') })
  const startedAt = performance.now()
  // After the configuration: an error in it is reported at once, and help does not load this.
  const { startApp } = await import('../../app.ts')
  const ended = untilSignal()
  const waiting = new AbortController()
  void ended.then(() => waiting.abort())

  output.line(`Quittance ${version}, ${config.environment}`)
  output.line()
  const starting = startApp({
    config,
    role,
    logger,
    signal: waiting.signal,
    onProgress: (step) => output.line(formatStep(step)),
  })
  const app = await starting
  printReady({ app, config, output, startedAt, role })

  const reason = await Promise.race([ended, app.failed])
  if (typeof reason !== 'string') logger.fatal({ err: reason }, reason.message)
  output.line(typeof reason === 'string' ? 'Stopping …' : reason.message)
  const failures = await app.stop()
  report(failures, logger)
  if (failures.length === 0) output.line('Stopped. All parts have ended.')
  return typeof reason === 'string' && failures.length === 0 ? EXIT.holds : EXIT.cannotRun
}

function chainCount(text: string): number {
  if (new RegExp(`^[1-${MAX_SANDBOX_CHAINS}]$`).test(text)) return Number(text)
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_SANDBOX_CHAINS}.`)
}

function withChains(config: Config, count: number | undefined): Config {
  const [one, another] = config.chains
  if (count === undefined || one === undefined) return config
  if (another === undefined && one.rpcUrls.length === 0) {
    return { ...config, chains: sandboxChains(one, count) }
  }
  throw new BaseError(
    '--chains starts chains. It cannot be used with ETH_RPC_URL or QUITTANCE_CHAINS.',
    { code: 'bad_configuration' },
  )
}

/**
 * The first signal asks for a clean stop. npm passes on the Ctrl-C that the terminal has sent us
 * already, so what follows at once is the same wish; a later one, from someone who cannot wait,
 * ends without it.
 */
function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        firstAt ??= performance.now()
        if (performance.now() - firstAt > SAME_WISH_MS) process.exit(EXIT.cannotRun)
        resolve(signal)
      })
    }
  })
}

const SAME_WISH_MS = 1000

function formatStep(step: { name: string; detail: string; elapsedMs: number }): string {
  const seconds = `${(step.elapsedMs / 1000).toFixed(1)} s`
  return `  ${step.name.padEnd(10)} ${step.detail.padEnd(60)} ${seconds}`
}

function printReady(options: {
  app: App
  config: Config
  output: Output
  startedAt: number
  role: Role
}): void {
  const { app, config, output, startedAt, role } = options
  const { facts } = app
  output.result(facts)
  output.line()
  output.line(`Ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`)
  output.line()
  output.line(formatPairs(pairsOf(facts, config)))
  output.line()
  if (facts.url) {
    output.line('Try it:')
    output.line(`  ${firstCommand(facts, facts.url)}`)
    output.line()
  }
  output.line(role === 'up' ? 'Ctrl-C stops all of it.' : 'Ctrl-C stops it.')
}

function pairsOf(facts: ReadyFacts, config: Config): Array<readonly [string, string]> {
  const { url, statusUrl, groupB, admin } = facts
  return [
    ...(url
      ? ([
          ['API', url],
          ['Console', `${url}/console`],
          ['Docs', `${url}/docs`],
        ] as const)
      : statusUrl
        ? ([['Status', `${statusUrl}/readyz and ${statusUrl}/metrics`]] as const)
        : []),
    ...(facts.chains ?? [facts]).map(
      ({ rpcUrl, chainId }) => ['Chain', `${rpcUrl} (chain ${chainId})`] as const,
    ),
    ['Settlement', facts.settlement ?? 'none on this chain'],
    ['Stablecoin', facts.stablecoin ? stablecoinOf(facts) : 'none on this chain'],
    ...(facts.signers ?? []).map(
      ({ address, purposes }) => ['Signer', `${address} signs ${purposes.join(', ')}`] as const,
    ),
    ...(groupB ? ([['User', `${groupB.username}, password ${groupB.password}`]] as const) : []),
    ...(groupB ? ([['API key', groupB.apiKey]] as const) : []),
    ...(admin ? ([['Admin', `${admin.username}, password ${admin.password}`]] as const) : []),
    ...(admin ? ([['Admin key', admin.apiKey]] as const) : []),
    ['Data', config.dataFolder],
  ]
}

function stablecoinOf({ stablecoin, token }: ReadyFacts): string {
  return `${stablecoin}${token?.symbol ? ` (${token.symbol})` : ''}`
}

function firstCommand(facts: ReadyFacts, url: string): string {
  return facts.groupB
    ? `curl ${url}/api/transactions -H 'X-API-Key: ${facts.groupB.apiKey}'`
    : `curl ${url}/readyz`
}

function report(failures: BaseError[], logger: Logger): void {
  for (const failure of failures) logger.error({ err: failure }, failure.message)
}
