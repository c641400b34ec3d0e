import { BaseError } from '../../base/errors.ts'
import { isCurrency, isSymbol, MAX_DECIMALS } from '../../domain/money.ts'
import type { Hex } from '../../domain/orders.ts'
import type { NamedToken, Token } from '../../domain/tokens.ts'
import { checksummed, parseAddress } from '../hex.ts'
import type { Providers } from '../rpc/providers.ts'
import { readTokenAnswers, shorten } from './token-answers.ts'

/**
 * Reads the tokens that the operator names in addition to the stablecoin. It refuses a token that
 * does not match its name, so that nobody is paid in another token than the one that was announced.
 */
export async function readTokens(
  providers: Pick<Providers, 'all'>,
  { named, stablecoin }: { named: readonly NamedToken[]; stablecoin: Hex | undefined },
): Promise<Token[]> {
  requireDistinct(named, stablecoin)
  return Promise.all(named.map((one) => readNamed(providers, one)))
}

function requireDistinct(named: readonly NamedToken[], stablecoin: Hex | undefined): void {
  const symbols = new Set<string>()
  const addresses = new Set<Hex>()
  for (const { symbol, address: given } of named) {
    const address = parseAddress(given)
    if (address === undefined) throw wrong(`the checksum of ${given} is wrong. Copy it again`)
    if (!isSymbol(symbol)) throw wrong(`${JSON.stringify(symbol)} is not a symbol`)
    if (isCurrency(symbol)) {
      throw wrong(`${symbol} is a currency and not a token. The dollar is STABLECOIN_ADDRESS`)
    }
    if (address === stablecoin?.toLowerCase()) {
      throw wrong(`${symbol} is the stablecoin, which is USD. Leave it out`)
    }
    if (symbols.has(symbol)) throw wrong(`it names ${symbol} twice`)
    if (addresses.has(address)) throw wrong(`it names ${checksummed(address)} twice`)
    symbols.add(symbol)
    addresses.add(address)
  }
}

async function readNamed(
  providers: Pick<Providers, 'all'>,
  { symbol, address: given }: NamedToken,
): Promise<Token> {
  const address = given.toLowerCase() as Hex
  const found = await readTokenAnswers(providers, { address })
  const where = `the contract at ${checksummed(address)}`
  if (!found.hasCode) throw wrong(`there is no contract at ${checksummed(address)} on this chain`)
  const { decimals } = found
  if (decimals === undefined)
    throw wrong(`${where} is not a token: its decimals() returns no number`)
  if (decimals > BigInt(MAX_DECIMALS)) {
    const most = `at most ${MAX_DECIMALS} can be written`
    throw wrong(`${symbol} has ${shorten(String(decimals))} decimals, and ${most}`)
  }
  if (found.symbol !== symbol) {
    const what = found.symbol ? `calls itself ${found.symbol}` : 'has no symbol that could be read'
    throw wrong(`${where} ${what}, and not ${symbol}`)
  }
  const { permitDomain } = found
  return { currency: symbol, address, symbol, decimals: Number(decimals), permitDomain }
}

function wrong(problem: string): BaseError {
  return new BaseError(`QUITTANCE_TOKENS is wrong: ${problem}.`, { code: 'bad_configuration' })
}
