import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'

import {
  EMBEDDED_CONFIRMATIONS,
  MOST_IN_FLIGHT,
  readChainsFile,
  USUAL_CONFIRMATIONS,
  USUAL_IN_FLIGHT,
  type ChainConfig,
  type Finality,
  type HexAddress,
} from './chains/config.ts'
import { parseDatabaseAddress } from './database-address.ts'
import { BadValue, BaseError, codeOf } from './errors.ts'
import { LOG_LEVELS, type LogLevel } from './logger.ts'
import {
  RAIL_VARIABLES,
  readRails,
  SECRET_RAIL_VARIABLES,
  type RailsConfig,
} from './rails-config.ts'
import {
  readTracing,
  SECRET_TRACING_VARIABLES,
  TRACING_VARIABLES,
  type TracingConfig,
} from './tracing/config.ts'

export type { HexAddress } from './chains/config.ts'

export type Environment = 'sandbox' | 'production'

const WITHDRAWALS = ['holdings-then-mint', 'holdings', 'mint'] as const

/** Out of what withdrawals are paid. */
export type Withdrawals = (typeof WITHDRAWALS)[number]

/**
 * Every setting, read and checked; `parseConfig` makes it from the environment. What is set for a
 * chain is that of the default one; `configOf` has that of another.
 */
export type Config = ChainConfig & {
  environment: Environment
  host: string
  /** 0 stands for any free port. */
  port: number
  /** The port where a process reports its status, for monitoring; absent: `work` reports none. */
  statusPort: number | undefined
  /** For how long a server that stops serves on, while `/readyz` says that it stops. */
  drainMs: number
  /** Whose X-Forwarded-For is believed: addresses and networks. Empty: nobody's. */
  trustedProxies: string[]
  dataFolder: string
  /** Absent: PGlite in the data folder. */
  databaseUrl: string | undefined
  /** The driver's own variable, which it uses where DATABASE_URL has no password. */
  databasePassword: string | undefined
  /** Every chain, the default one first. */
  chains: readonly ChainConfig[]
  blockMs: number
  /** How the platform signs; absent means the sandbox's well-known seed. */
  withdrawals: Withdrawals
  signer: string | undefined
  /** The API key for a server whose records `reconcile` reads. */
  sourceKey: string | undefined
  /** Of the user who pays by `pay`. */
  payKey: string | undefined
  /** Of an administrator, for the commands that look after a server. */
  adminKey: string | undefined
  /** Chain 1 on a database that does not flush to the disk: only for those who insist. */
  allowsEmbeddedMainnet: boolean
  /** One provider outside the sandbox: only for those who say so. */
  trustsOneProvider: boolean
  /** Absent: `warn` where a person watches a terminal, `info` for a server. */
  logLevel: LogLevel | undefined
  /** Absent: no traces. */
  tracing: TracingConfig | undefined
  rails: RailsConfig
}

/**
 * Reads the environment once. Every bad value is named, all of them in one error.
 *
 * @example
 *   ```ts
 *   import { parseConfig } from 'quittance/server'
 *
 *   const { environment, port } = parseConfig({ PORT: '0' })
 *   console.log(environment, port)
 *   ```
 */
export function parseConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = []
  const asked = new Set<string>()
  const read = <T>(name: string, parse: (text: string) => T): T | undefined => {
    asked.add(name)
    const text = env[name]?.trim()
    if (text === undefined || text === '') return undefined
    try {
      return parse(text)
    } catch (error) {
      if (!(error instanceof BadValue)) throw error
      problems.push(`${name} ${error.message}, but is ${quote(name, text)}`)
      return undefined
    }
  }

  const chains = readChains(env, read, problems)
  const config: Config = {
    environment: read('QUITTANCE_ENVIRONMENT', oneOf(['sandbox', 'production'])) ?? 'sandbox',
    host: read('HOST', parseHost) ?? '127.0.0.1',
    port: read('PORT', wholeNumber({ min: 0, max: 65_535 })) ?? 8080,
    statusPort: read('QUITTANCE_STATUS_PORT', wholeNumber({ min: 0, max: 65_535 })),
    drainMs: 1000 * (read('QUITTANCE_DRAIN_SECONDS', wholeNumber({ min: 0, max: 300 })) ?? 0),
    trustedProxies: read('QUITTANCE_TRUST_PROXY', parseNetworks) ?? [],
    dataFolder: resolve(read('QUITTANCE_DATA', (text) => text) ?? '.quittance'),
    databaseUrl: read('DATABASE_URL', parseDatabaseUrl),
    databasePassword: read('PGPASSWORD', (text) => text),
    ...chains[0],
    chains,
    blockMs: read('QUITTANCE_BLOCK_MS', wholeNumber({ min: 20, max: 60_000 })) ?? 1000,
    withdrawals: read('QUITTANCE_WITHDRAWALS', oneOf(WITHDRAWALS)) ?? 'holdings-then-mint',
    signer: read('QUITTANCE_SIGNER', (text) => text),
    sourceKey: read('QUITTANCE_SOURCE_KEY', (text) => text),
    payKey: read('QUITTANCE_PAY_KEY', (text) => text),
    adminKey: read('QUITTANCE_ADMIN_KEY', (text) => text),
    allowsEmbeddedMainnet: read('QUITTANCE_EMBEDDED_MAINNET', oneOf(['yes', 'no'])) === 'yes',
    trustsOneProvider: read('QUITTANCE_TRUST_ONE_PROVIDER', oneOf(['yes', 'no'])) === 'yes',
    logLevel: read('QUITTANCE_LOG_LEVEL', oneOf(LOG_LEVELS)),
    tracing: readTracing({ read, parseUrl, oneOf }),
    rails: readRails({ read, problems, parseUrl, parseAddress }),
  }
  problems.push(...unknownVariables(env, asked))
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

type ReadVariable = <T>(name: string, parse: (text: string) => T) => T | undefined

/** Those that the file lists, or the one that the variables make. */
function readChains(
  env: Readonly<Record<string, string | undefined>>,
  read: ReadVariable,
  problems: string[],
): [ChainConfig, ...ChainConfig[]] {
  const rpcUrls = read('ETH_RPC_URL', parseRpcUrls) ?? []
  const isEmbedded = rpcUrls.length === 0
  const one: ChainConfig = {
    name: undefined,
    code: 'ETH',
    chainId: undefined,
    rpcUrls,
    confirmations:
      read('QUITTANCE_CONFIRMATIONS', parseConfirmations) ??
      (isEmbedded ? EMBEDDED_CONFIRMATIONS : USUAL_CONFIRMATIONS),
    inFlight:
      read('QUITTANCE_IN_FLIGHT', wholeNumber({ min: 1, max: MOST_IN_FLIGHT })) ?? USUAL_IN_FLIGHT,
    settlementAddress: read('SETTLEMENT_ADDRESS', parseAddress),
    stablecoinAddress: read('STABLECOIN_ADDRESS', parseAddress),
    stablecoinProfile: undefined,
    tokens: read('QUITTANCE_TOKENS', parseTokens) ?? [],
    coin: undefined,
    stack: undefined,
    startBlock: undefined,
  }
  const [first, ...others] = readFile(read, problems)
  if (first === undefined) return [one]
  const beside = ONE_CHAIN_VARIABLES.filter((name) => (env[name]?.trim() ?? '') !== '')
  if (beside.length > 0) {
    problems.push(`QUITTANCE_CHAINS replaces ${beside.join(', ')}`)
  }
  return [first, ...others]
}

function readFile(read: ReadVariable, problems: string[]): ChainConfig[] {
  const file = read('QUITTANCE_CHAINS', (path) => ({ path, text: readText(path) }))
  if (file === undefined) return []
  const found = readChainsFile(file.text, { parseRpcUrls, parseAddress })
  problems.push(...found.problems.map((problem) => `${file.path}, ${problem}`))
  return found.chains
}

const ONE_CHAIN_VARIABLES = [
  'ETH_RPC_URL',
  'QUITTANCE_CONFIRMATIONS',
  'QUITTANCE_IN_FLIGHT',
  'SETTLEMENT_ADDRESS',
  'STABLECOIN_ADDRESS',
  'QUITTANCE_TOKENS',
]

/** The settings as one of the chains has them. */
export function configOf(config: Config, chain: ChainConfig): Config {
  return { ...config, ...chain }
}

/**
 * Every variable that the program reads. A test keeps the table in docs/configuration.md equal.
 */
export const VARIABLES = {
  PORT: 'port of the HTTP server; 0 takes any free one',
  HOST: 'address to listen on',
  QUITTANCE_STATUS_PORT: 'port that answers /healthz, /readyz and /metrics, and nothing else',
  QUITTANCE_DRAIN_SECONDS:
    'seconds that `serve` continues to serve after SIGTERM, for the load balancer',
  QUITTANCE_TRUST_PROXY: 'proxies whose X-Forwarded-For is trusted, comma-separated',
  QUITTANCE_ENVIRONMENT: 'sandbox or production',
  QUITTANCE_DATA: 'folder for the embedded database and chain',
  DATABASE_URL: 'a PostgreSQL server instead of the embedded one',
  PGPASSWORD: 'password of the PostgreSQL server where DATABASE_URL has none',
  ETH_RPC_URL: 'Ethereum providers instead of the embedded chain, comma-separated',
  QUITTANCE_CHAINS: 'JSON file of several chains, instead of the variables of one',
  QUITTANCE_CONFIRMATIONS: 'blocks until a payment is final, `finalized` or `safe`',
  QUITTANCE_IN_FLIGHT: 'transactions of one signer that are on their way at a time',
  QUITTANCE_BLOCK_MS: 'block time of the embedded chain',
  SETTLEMENT_ADDRESS: 'the settlement contract',
  STABLECOIN_ADDRESS: 'the dollar stablecoin',
  QUITTANCE_TOKENS: 'other tokens to pay in, as SYMBOL:ADDRESS, comma-separated',
  QUITTANCE_WITHDRAWALS: 'what pays withdrawals: holdings, mint or holdings-then-mint',
  QUITTANCE_SIGNER: 'the keys that sign',
  QUITTANCE_DEPLOYER_KEY: 'private key that `deploy` pays with',
  QUITTANCE_SOURCE_KEY: 'API key for the server that `reconcile --source` names',
  QUITTANCE_PAY_KEY: 'API key of the user whose address `pay` pays from',
  QUITTANCE_ADMIN_KEY: 'API key of the administrator for `signers` and `status`',
  QUITTANCE_EMBEDDED_MAINNET: '`yes` allows chain 1 on the embedded database',
  QUITTANCE_TRUST_ONE_PROVIDER: '`yes` allows one provider outside the sandbox',
  QUITTANCE_LOG_LEVEL: LOG_LEVELS.join(', '),
  ...TRACING_VARIABLES,
  ...RAIL_VARIABLES,
} as const

const SECRET_VARIABLES: readonly string[] = [
  'DATABASE_URL',
  'PGPASSWORD',
  'ETH_RPC_URL',
  'QUITTANCE_SIGNER',
  'QUITTANCE_DEPLOYER_KEY',
  'QUITTANCE_PAY_KEY',
  'QUITTANCE_ADMIN_KEY',
  ...SECRET_TRACING_VARIABLES,
  ...SECRET_RAIL_VARIABLES,
]

/** A value that may carry a password is described, never printed. */
function quote(name: string, text: string): string {
  return SECRET_VARIABLES.includes(name.replace(/__.*$/, ''))
    ? `${text.length} characters of something else`
    : `"${text}"`
}

function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  asked: ReadonlySet<string>,
): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('QUITTANCE_'))
    .filter((name) => !Object.hasOwn(VARIABLES, name) && !asked.has(name))
    .map((name) => `${name} is not a variable of this program`)
}

function wholeNumber(range: { min: number; max: number }) {
  return (text: string): number => {
    const number = Number(text)
    if (!/^\d{1,9}$/.test(text) || number < range.min || number > range.max) {
      throw new BadValue(`must be a whole number from ${range.min} to ${range.max}`)
    }
    return number
  }
}

function oneOf<const T extends string>(values: readonly T[]) {
  return (text: string): T => {
    const value = values.find((candidate) => candidate === text)
    if (value === undefined) throw new BadValue(`must be one of ${values.join(', ')}`)
    return value
  }
}

function parseHost(text: string): string {
  if (!/^[A-Za-z0-9.:_-]{1,255}$/.test(text))
    throw new BadValue('must be an address or a host name')
  return text
}

function parseNetworks(text: string): string[] {
  const networks = text.split(',').map((part) => part.trim())
  for (const network of networks) {
    const [, address = '', bits] = /^([^/]*)(?:\/([1-9]\d{0,2}))?$/.exec(network) ?? []
    const version = isIP(address)
    // A network of no bits would be everybody, who could then all say who they are.
    if (version === 0 || Number(bits ?? 1) > (version === 4 ? 32 : 128)) {
      throw new BadValue('must be addresses or networks such as 10.0.0.0/8, separated by commas')
    }
  }
  return networks
}

function parseDatabaseUrl(text: string): string {
  if (parseDatabaseAddress(text) === undefined) {
    throw new BadValue(
      'must look like postgres://user:password@host:5432/database, with commas between several ' +
        'hosts; target_session_attrs can be read-write, primary or any',
    )
  }
  return text
}

function parseUrl(text: string): string {
  if (!['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '')) {
    throw new BadValue('must be an http(s) address')
  }
  return text.replace(/\/$/, '')
}

function parseRpcUrls(text: string): string[] {
  const urls = text.split(',').map((part) => part.trim())
  for (const url of urls) {
    if (!['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '')) {
      throw new BadValue('must be one or more http(s) addresses, separated by commas')
    }
  }
  return [...new Set(urls)]
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new BadValue(`must be a file that can be read (${codeOf(error) ?? 'unknown'})`)
  }
}

function parseConfirmations(text: string): Finality {
  if (text === 'finalized' || text === 'safe') return text
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1 || Number(text) > 1000) {
    throw new BadValue('must be a whole number from 1 to 1000, `finalized` or `safe`')
  }
  return Number(text)
}

function parseAddress(text: string): HexAddress {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new BadValue('must be 0x and 40 hexadecimal digits')
  return text as HexAddress
}

function parseTokens(text: string): Config['tokens'] {
  return text.split(',').map((part) => {
    const [, symbol = '', address = ''] = /^\s*([^\s:]+):(0x[0-9a-fA-F]{40})\s*$/.exec(part) ?? []
    if (address === '') throw new BadValue('must be SYMBOL:0x… for each token, separated by commas')
    return { symbol, address: address as HexAddress }
  })
}

export class ConfigError extends BaseError {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.map((problem) => `${problem}. Correct or unset it.`).join('\n'), {
      code: 'bad_configuration',
      details: { problems },
    })
    this.problems = problems
  }
}
