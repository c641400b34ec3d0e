import { createCache } from '../../base/cache.ts'
import { BaseError } from '../../base/errors.ts'
import type { Hex } from '../../chain/hex.ts'
import { campsOf, neededOf, weigh } from '../../chain/quorum.ts'
import { COIN_DECIMALS } from '../../domain/coins.ts'
import { AmountError, CURRENCIES, parseAmount } from '../../domain/money.ts'
import type { Token } from '../../domain/tokens.ts'
import type { Node } from '../chain/node.ts'
import type { UnknownReason } from './records.ts'
import type { PaymentRecord, RecordedAmount, Uncompared } from './records.ts'
import type { TokenFacts } from './tokens.ts'

/** Which token a currency is, as the operator says, and what records' amounts are in it. */
export type Currencies = {
  /** The tokens that the operator names, with their decimals. */
  tokens: ReadonlyMap<Hex, number>
  /** All that a result hangs on, in one line. */
  summary: string
  /** The records with their money, or with the reason why it is not known. */
  price: (records: readonly PaymentRecord[], signal: AbortSignal) => Promise<PaymentRecord[]>
}

/** A token that the operator names: for one currency, or as the dollar and by its own symbol. */
export type NamedToken = { currency?: string | undefined; address: Hex }

type Asking = { nodes: readonly Node[]; signal: AbortSignal }

/** What is compared with one chain, whose coin has this name. */
type OnChain = { coin: string; nodes: readonly Node[] }

/**
 * Reads the named tokens from the chain. What comes later in the list stands above what comes
 * earlier, and a name that the operator gives above one that a token gives itself.
 */
export async function readCurrencies(
  named: readonly NamedToken[],
  { coin, nodes, signal }: OnChain & Asking,
): Promise<Currencies> {
  if (named.some(({ currency }) => currency === coin)) throw new CoinIsNoTokenError(coin)
  const addresses = [...new Set(named.map(({ address }) => address))]
  const facts = await factsOf(addresses, { nodes, signal })
  const known = new Map<Hex, KnownToken>()
  for (const [address, fact] of facts) {
    if (fact.kind !== 'known') throw new TokenUnreadableError(address, fact)
    known.set(address, fact.facts)
  }
  const byName = new Map<string, Hex>()
  for (const { currency, address } of named) {
    const symbol = known.get(address)?.symbol
    if (currency !== undefined || symbol === undefined) continue
    // A token cannot say of itself that it is the dollar, or the coin of the chain.
    if (symbol !== coin && !CURRENCIES.some((one) => one === symbol)) byName.set(symbol, address)
  }
  for (const { currency = 'USD', address } of named) byName.set(currency, address)
  const tokens = new Map([...known].map(([address, { decimals }]) => [address, decimals]))
  return createCurrencies({ coin, nodes, byName, tokens })
}

/** Of our own records: what is configured, and no other currency is a token. */
export function ownCurrencies(
  tokens: readonly Pick<Token, 'currency' | 'address' | 'decimals'>[],
  chain: OnChain,
): Currencies {
  return createCurrencies({
    ...chain,
    byName: new Map(tokens.map(({ currency, address }) => [currency, address])),
    tokens: new Map(tokens.map(({ address, decimals }) => [address, decimals])),
  })
}

function createCurrencies(
  parts: OnChain & { byName: ReadonlyMap<string, Hex>; tokens: ReadonlyMap<Hex, number> },
): Currencies {
  const { coin, nodes, byName, tokens } = parts
  const cache = createCache<TokenFact>(MAX_REMEMBERED)
  const read = async (addresses: readonly Hex[], signal: AbortSignal) => {
    const found = new Map<Hex, TokenFact>()
    for (const address of addresses) {
      const decimals = tokens.get(address)
      const kept = cache.get(address)
      if (decimals !== undefined) found.set(address, { kind: 'known', facts: { decimals } })
      else if (kept !== undefined) found.set(address, kept)
    }
    const unread = addresses.filter((address) => !found.has(address))
    for (const [address, fact] of await factsOf(unread, { nodes, signal })) {
      found.set(address, fact)
      if (fact.kind === 'known') cache.set(address, fact)
    }
    return found
  }
  return {
    tokens,
    summary: [...byName]
      .map(([name, token]) => `${name}=${token}:${tokens.get(token)}`)
      .toSorted()
      .concat(coin)
      .join(' '),
    async price(records, signal) {
      const places = records.map((record) => placeOf(record, { coin, byName }))
      const wanted = places.flatMap((place) => place?.token ?? [])
      const facts = await read([...new Set(wanted)], signal)
      return records.map((record, at) => {
        const { amount } = record
        const place = places[at]
        if (amount === undefined || place === undefined) return record
        if (place.token === null) return { ...record, amount: inCoin(amount) }
        const told = place.token === undefined ? place : moneyOf(amount, place.token, facts)
        return { ...record, amount: { ...amount, ...told } }
      })
    },
  }
}

const MAX_REMEMBERED = 1_000

/** The coin of the chain is the token null. */
type TokenOrProblem = { token: Hex | null } | { token?: undefined; unknown: Uncompared }

/** In what the amount is; undefined where there is nothing to find out. */
function placeOf(
  { amount, token }: PaymentRecord,
  { coin, byName }: { coin: string; byName: ReadonlyMap<string, Hex> },
): TokenOrProblem | undefined {
  if (amount === undefined || amount.money !== undefined) return undefined
  const { currency } = amount
  // It counts in the token itself, of which nobody says what it is worth.
  if (currency === undefined) return { token: token ?? null }
  if (currency === coin) {
    if (token === undefined) return { token: null }
    const problem = `the record names the token ${token}, and ${coin} is the coin of this chain`
    return { unknown: { reason: 'token_differs', problem } }
  }
  const known = byName.get(currency)
  if (known === undefined) {
    const setting = currency === 'USD' ? ', or STABLECOIN_ADDRESS' : ''
    const problem =
      `no token is known for ${currency}, so the amount is not compared. ` +
      `Name the token: --token ${currency}=ADDRESS${setting}`
    return { unknown: { reason: 'currency_unknown', problem } }
  }
  if (token === undefined || token === known) return { token: known }
  const problem = `the record names the token ${token}, and ${currency} is ${known} here`
  return { unknown: { reason: 'token_differs', problem } }
}

function inCoin({ text, currency, isDue }: RecordedAmount): RecordedAmount {
  const units = parseAmount({ text, decimals: COIN_DECIMALS })
  return { text, currency, money: { units, token: null }, ...(isDue && { isDue }) }
}

function moneyOf(
  { text }: RecordedAmount,
  token: Hex,
  facts: ReadonlyMap<Hex, TokenFact>,
): Pick<RecordedAmount, 'money' | 'unknown'> {
  const fact = facts.get(token) ?? { kind: 'unknown', reason: 'provider_unavailable' }
  if (fact.kind === 'unknown') return { money: undefined, unknown: fact.reason }
  if (fact.kind !== 'known') {
    const problem = `${token} ${PROBLEMS[fact.kind]}`
    return { money: undefined, unknown: { reason: 'token_unreadable', problem } }
  }
  const { decimals } = fact.facts
  try {
    return { money: { units: parseAmount({ text, decimals }), token } }
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    const problem = `the amount ${text} has more decimals than the ${decimals} of ${token}`
    return { money: undefined, unknown: { reason: 'amount_too_precise', problem } }
  }
}

type KnownToken = Pick<TokenFacts, 'decimals'> & Partial<TokenFacts>

/** What may be relied on of a token, since enough nodes say so. */
type TokenFact =
  | { kind: 'known'; facts: KnownToken }
  | { kind: 'none' }
  | { kind: 'contradicted' }
  | { kind: 'unknown'; reason: UnknownReason }

const PROBLEMS = {
  none: 'is not an ERC-20 with decimals',
  contradicted: 'has different decimals on different nodes',
} as const

async function factsOf(
  addresses: readonly Hex[],
  { nodes, signal }: Asking,
): Promise<Map<Hex, TokenFact>> {
  if (addresses.length === 0) return new Map()
  const told = await Promise.all(nodes.map((node) => node.tokens(addresses, signal)))
  return new Map(
    addresses.map((address) => {
      const answers = told.map((answer) => answer.get(address))
      return [address, agreeOn(answers, neededOf(nodes.length))]
    }),
  )
}

type TokenAnswer = TokenFacts | null | BaseError | undefined

/** As of transactions: nothing follows from silence, and nothing from a contradiction. */
function agreeOn(answers: readonly TokenAnswer[], needed: number): TokenFact {
  const heard = answers.flatMap((one) =>
    one === undefined || one instanceof BaseError ? [] : [{ facts: one }],
  )
  const camps = campsOf(heard, ({ facts }) => facts?.decimals)
  const [best] = camps
  const weight = weigh(camps, needed)
  if (weight === 'contradicted') return { kind: weight }
  if (weight === 'too_few' || best === undefined) {
    return { kind: 'unknown', reason: 'provider_unavailable' }
  }
  const { facts } = best[0]
  if (!facts) return { kind: 'none' }
  const isSymbol = best.every((one) => one.facts?.symbol === facts.symbol)
  return { kind: 'known', facts: isSymbol ? facts : { ...facts, symbol: undefined } }
}

class CoinIsNoTokenError extends BaseError {
  constructor(coin: string) {
    super(`${coin} is the coin of this chain and not a token. Leave out --token ${coin}=…`, {
      code: 'token_unreadable',
    })
  }
}

class TokenUnreadableError extends BaseError {
  constructor(address: Hex, fact: Exclude<TokenFact, { kind: 'known' }>) {
    const what = fact.kind === 'unknown' ? 'cannot be read now' : PROBLEMS[fact.kind]
    super(`${address} ${what}. Correct --token or STABLECOIN_ADDRESS, or ask other nodes.`, {
      code: 'token_unreadable',
      retryable: fact.kind === 'unknown',
      details: { address },
    })
  }
}
