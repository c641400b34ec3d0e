import { Command } from 'commander'

import type { App, Role } from '../../app.ts'
import { parseConfig, type Config } from '../../base/config.ts'
import type { BaseError } from '../../base/errors.ts'
import { createLogger, type Logger } from '../../base/logger.ts'
import type { ReadyFacts } from '../../base/ready.ts'
import { EXIT, createOutput, formatPairs, version, type Output } from '../output.ts'

/** `up`, `serve` and `work` differ in what they start. */
export function roleCommand(role: Role): Command {
  return new Command(role)
    .option('--json', 'print what ready.json holds, once it serves')
    .action(async (options: { json?: boolean }) => {
      process.exitCode = await run(role, createOutput(options))
    })
}

/** Runs until a signal or a failure ends it; resolves to the exit code. */
async function run(role: Role, output: Output): Promise<number> {
  const config = parseConfig(process.env)
  const logger = createLogger({ level: config.logLevel ?? (role === 'up' ? 'warn' : 'info') })
  const startedAt = performance.now()
  // After the configuration: a bad one is told at once, and help needs none of it.
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
  if (failures.length === 0) output.line('Stopped. Nothing is left running.')
  return typeof reason === 'string' && failures.length === 0 ? EXIT.holds : EXIT.cannotRun
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
    ['Chain', `${facts.rpcUrl} (chain ${facts.chainId})`],
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
