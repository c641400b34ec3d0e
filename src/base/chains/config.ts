import { BadValue } from '../errors.ts'
import { parseJsonLines, type JsonPlace } from './json-lines.ts'
import { findKnownChain, findKnownChainById, type KnownChain, type Stack } from './known.ts'

export type HexAddress = `0x${string}`

/** So many blocks, the receipt's own included, or whatever the chain itself calls final or safe. */
export type Finality = number | 'finalized' | 'safe'

export function describeFinality(finality: Finality): string {
  return typeof finality === 'number' ? `${finality} confirmations` : finality
}

/** What is set for one chain. */
export type ChainConfig = {
  /** As requests call it; undefined in the form of one chain, until its node says which it is. */
  name: string | undefined
  /** As requests of Group A call it. */
  code: string
  /** What every provider must answer; undefined: what the first one does. */
  chainId: number | undefined
  /** Empty: anvil in the data folder. */
  rpcUrls: string[]
  confirmations: Finality
  /** How many transactions of one signer are on their way at a time. */
  inFlight: number
  settlementAddress: HexAddress | undefined
  stablecoinAddress: HexAddress | undefined
  /** What the functions of the stablecoin must fit, where the operator says so. */
  stablecoinProfile: string | undefined
  /** Other tokens that payments can be made in, by their symbols. */
  tokens: readonly { symbol: string; address: HexAddress }[]
  /** What gas is paid in; undefined: as is known of the chain, or ether. */
  coin: string | undefined
  /** How it charges; undefined: as Ethereum does, or as is known of the chain. */
  stack: Stack | undefined
  /** Before it nothing of ours can be, so that nothing is read there. */
  startBlock: bigint | undefined
}

/** Of an anvil of ours. */
export const EMBEDDED_CONFIRMATIONS = 2
export const USUAL_CONFIRMATIONS = 12

/** What nodes keep of one account by default. */
export const USUAL_IN_FLIGHT = 16
export const MOST_IN_FLIGHT = 1000

/** The id of the first chain of a sandbox; those of the others follow it. */
export const SANDBOX_CHAIN_ID = 31_337
export const MAX_SANDBOX_CHAINS = 4

/** The chains of a sandbox that has so many of its own. */
export function sandboxChains(one: ChainConfig, count: number): ChainConfig[] {
  return Array.from({ length: count }, (_, at) =>
    at === 0
      ? one
      : {
          ...one,
          name: `local${at + 1}`,
          code: `LOCAL${at + 1}`,
          chainId: SANDBOX_CHAIN_ID + at,
        },
  )
}

type Parsers = {
  parseRpcUrls: (text: string) => string[]
  parseAddress: (text: string) => HexAddress
}

/**
 * Reads the text of QUITTANCE_CHAINS: a JSON array, of which the first is the default chain.
 * Whatever is wrong is named with its line, all of it at once.
 */
export function readChainsFile(
  text: string,
  parsers: Parsers,
): { chains: ChainConfig[]; problems: string[] } {
  const { value, problem, lineOf } = parseJsonLines(text)
  if (problem !== undefined) return { chains: [], problems: [problem] }
  const problems: Problem[] = []
  const file: Reading = { parsers, tell: (path, what) => void problems.push({ path, what }) }
  const chains = Array.isArray(value) ? value.map((one, at) => readChain(file, one, [at])) : []
  if (!Array.isArray(value) || value.length === 0) {
    file.tell([], 'must be a list of chains, the default one first')
  } else if (value.length > MAX_CHAINS) {
    file.tell([], `can have at most ${MAX_CHAINS} chains`)
  }
  for (const key of ['name', 'code', 'chainId'] as const) requireUnlike(file, chains, key)
  const told = problems.map(({ path, what }) => `line ${lineOf(path)}: ${nameOf(path)}${what}`)
  return { chains, problems: told }
}

type Problem = { path: JsonPlace; what: string }
type Reading = { parsers: Parsers; tell: (path: JsonPlace, what: string) => void }

const MAX_CHAINS = 32

const FIELDS = [
  'name',
  'id',
  'code',
  'providers',
  'finality',
  'inFlight',
  'settlement',
  'stablecoin',
  'tokens',
  'coin',
  'fees',
  'startBlock',
]
const TOKEN_FIELDS = ['symbol', 'address', 'profile']
const STACKS: readonly Stack[] = ['ethereum', 'op', 'arbitrum']
const PROFILES = ['memo', 'fiat_token', 'erc20']

function nameOf(path: JsonPlace): string {
  const field = path.at(-1)
  return typeof field === 'string' ? `${field} ` : ''
}

function readChain(file: Reading, value: unknown, path: JsonPlace): ChainConfig {
  const { fields, read } = fieldsOf(file, value, { path, known: FIELDS })
  const name = read('name', (text) => matching(text, NAME, 'must be lower-case letters and digits'))
  const givenId = read('id', (id) => whole(id, { min: 1, max: 2 ** 31 }))
  const known = findKnown(file, { name, givenId, path })
  if (name === undefined && fields['name'] === undefined) file.tell(path, 'a chain needs a name')
  const chainId = givenId ?? known?.chainId
  if (chainId === undefined && fields['id'] === undefined) {
    file.tell(path, 'is not a known chain, so it needs an id')
  }
  const providers = read('providers', (list) => providersOf(list, file.parsers))
  if (providers === undefined && fields['providers'] === undefined && !known) {
    file.tell(path, 'is not a known chain, so it needs providers')
  }
  const coin = read('coin', coinOf) ?? known?.coin
  const { stablecoin, tokens } = readTokens(file, { value: fields['tokens'], path, read })
  if (tokens.some(({ symbol }) => symbol === (coin ?? 'ETH'))) {
    file.tell([...path, 'tokens'], `has ${coin ?? 'ETH'}, which is the coin of the chain`)
  }
  const code = (name ?? '').toUpperCase().slice(0, MAX_CODE)
  return {
    name,
    code:
      read('code', (text) => matching(text, CODE, 'must be capitals and digits')) ??
      known?.code ??
      code,
    chainId,
    rpcUrls: providers ?? (known ? [known.rpcUrl] : []),
    confirmations: read('finality', finalityOf) ?? known?.finality ?? USUAL_CONFIRMATIONS,
    inFlight:
      read('inFlight', (count) => whole(count, { min: 1, max: MOST_IN_FLIGHT })) ?? USUAL_IN_FLIGHT,
    settlementAddress: read('settlement', (text) => file.parsers.parseAddress(textOf(text))),
    stablecoinAddress: stablecoin?.address,
    stablecoinProfile: stablecoin?.profile,
    tokens: tokens
      .filter((one) => one !== stablecoin)
      .map(({ symbol, address }) => ({ symbol, address })),
    coin,
    stack: read('fees', (text) => oneOf(text, STACKS)) ?? known?.stack,
    startBlock: read('startBlock', (at) => BigInt(whole(at, { min: 0, max: 2 ** 48 }))),
  }
}

const NAME = /^[a-z][a-zA-Z0-9_-]{0,31}$/
const MAX_CODE = 16
const CODE = /^[A-Z0-9]{2,16}$/

/** By its name, or by its id; the two must not speak of different chains. */
function findKnown(
  file: Reading,
  of: { name: string | undefined; givenId: number | undefined; path: JsonPlace },
): KnownChain | undefined {
  const { name, givenId, path } = of
  const named = name === undefined ? undefined : findKnownChain(name)
  if (named === undefined || givenId === undefined || named.chainId === givenId) {
    return named ?? (givenId === undefined ? undefined : findKnownChainById(givenId))
  }
  file.tell([...path, 'id'], `is ${givenId}, but ${named.name} is chain ${named.chainId}`)
  return named
}

function coinOf(value: unknown): string {
  const symbol = matching(value, /^[A-Z]{2,8}$/, 'must be a symbol')
  if (MONEY.includes(symbol)) throw new BadValue('is the name of money that banks hold')
  return symbol
}

const MONEY = ['USD', 'EUR', 'GBP']

type NamedToken = { symbol: string; address: HexAddress; profile: string | undefined }

/** The tokens, and the one of them that is the dollar. */
function readTokens(
  file: Reading,
  { value, path, read }: { value: unknown; path: JsonPlace; read: Read },
): { tokens: NamedToken[]; stablecoin: NamedToken | undefined } {
  const dollar = read('stablecoin', textOf)
  if (value !== undefined && !Array.isArray(value)) {
    file.tell([...path, 'tokens'], 'must be a list')
    return { tokens: [], stablecoin: undefined }
  }
  const tokens = (value ?? []).flatMap((one: unknown, at: number): NamedToken[] => {
    const place = [...path, 'tokens', at]
    const { fields, read } = fieldsOf(file, one, { path: place, known: TOKEN_FIELDS })
    const symbol = read('symbol', (text) => matching(text, /^[!-~]{1,32}$/, 'must be a symbol'))
    const address = read('address', (text) => file.parsers.parseAddress(textOf(text)))
    const profile = read('profile', (text) => oneOf(text, PROFILES))
    for (const field of ['symbol', 'address']) {
      if (fields[field] === undefined) file.tell(place, `a token needs its ${field}`)
    }
    return symbol === undefined || address === undefined ? [] : [{ symbol, address, profile }]
  })
  const stablecoin = tokens.find(({ symbol }: NamedToken) => symbol === dollar)
  if (dollar !== undefined && stablecoin === undefined) {
    file.tell([...path, 'stablecoin'], `is ${dollar}, which is not one of the tokens`)
  }
  return { tokens, stablecoin }
}

type Read = <T>(field: string, parse: (value: unknown) => T) => T | undefined

function fieldsOf(
  file: Reading,
  value: unknown,
  { path, known }: { path: JsonPlace; known: readonly string[] },
): { fields: Readonly<Record<string, unknown>>; read: Read } {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject) file.tell(path, `must be an object of ${known.join(', ')}`)
  const fields = isObject ? (value as Record<string, unknown>) : {}
  for (const field of Object.keys(fields)) {
    if (!known.includes(field)) {
      file.tell([...path, field], `is unknown; use ${known.join(', ')}`)
    }
  }
  const read: Read = (field, parse) => {
    if (fields[field] === undefined) return undefined
    try {
      return parse(fields[field])
    } catch (error) {
      if (!(error instanceof BadValue)) throw error
      file.tell([...path, field], error.message)
      return undefined
    }
  }
  return { fields, read }
}

function textOf(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw new BadValue('must be a text')
}

function matching(value: unknown, pattern: RegExp, problem: string): string {
  const text = textOf(value)
  if (!pattern.test(text)) throw new BadValue(problem)
  return text
}

function oneOf<const T extends string>(value: unknown, known: readonly T[]): T {
  const found = known.find((one) => one === value)
  if (found === undefined) throw new BadValue(`must be one of ${known.join(', ')}`)
  return found
}

function whole(value: unknown, { min, max }: { min: number; max: number }): number {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) {
    return Number(value)
  }
  throw new BadValue(`must be a whole number from ${min} to ${max}`)
}

function providersOf(value: unknown, { parseRpcUrls }: Parsers): string[] {
  if (!Array.isArray(value) || value.length === 0) throw new BadValue('must be a list of addresses')
  return [...new Set(value.flatMap((one) => parseRpcUrls(textOf(one))))]
}

function finalityOf(value: unknown): Finality {
  return value === 'finalized' || value === 'safe' ? value : whole(value, { min: 1, max: 1000 })
}

function requireUnlike(
  file: Reading,
  chains: readonly ChainConfig[],
  key: 'name' | 'code' | 'chainId',
): void {
  for (const [at, { [key]: value }] of chains.entries()) {
    const first = chains.findIndex((other) => value !== undefined && other[key] === value)
    if (first === -1 || first === at) continue
    const field = key === 'chainId' ? 'id' : key
    file.tell([at, field], `is ${value}, the same as that of an earlier chain; give it another`)
  }
}
