import { InvalidArgumentError, type Command } from 'commander'

import { BaseError } from '../base/errors.ts'
import { AmountError, DECIMAL_PATTERN, parseAmount, STABLECOIN_DECIMALS } from '../domain/money.ts'
import { nativeCoin, type Coin } from '../verify/coins.ts'
import { readCoin } from '../verify/token-state.ts'
import { wholeNumber, type Found } from './providers.ts'

export type AmountFlags = { amount?: string; amountUnits?: bigint; token?: string }

/** The two ways to say how much; never both, and an integer is not guessed at. */
export function withAmount(command: Command): Command {
  return command
    .option(
      '--amount <decimal>',
      'in the unit of the coin or token, such as 0.25 or 12.345678',
      decimal,
    )
    .option('--amount-units <number>', 'in the smallest unit instead, such as wei', wholeNumber)
}

/** In the smallest unit; undefined where no amount is given. */
export async function unitsOf(flags: AmountFlags, found: Found): Promise<bigint | undefined> {
  const { amount: text, amountUnits, token } = flags
  if (text === undefined) return amountUnits
  if (amountUnits !== undefined) throw new TwiceError()
  // All have the same decimals, so no node has to be asked for a chain without a name.
  const coin =
    token === undefined ? nativeCoin(found.chainId ?? 0n) : await coinOfToken(token, found)
  try {
    return parseAmount({ text, decimals: coin.decimals })
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    throw unfit({ text, coin, token, cause: error })
  }
}

/** Our own dollar is known without a node; any other token must tell its decimals. */
async function coinOfToken(token: string, found: Found): Promise<Coin> {
  const { stablecoin, providers } = found
  if (stablecoin?.toLowerCase() === token) {
    return { symbol: undefined, decimals: STABLECOIN_DECIMALS }
  }
  const coin = providers.length === 0 ? undefined : await readCoin(token, found)
  if (coin === undefined) throw new DecimalsUnknownError(token)
  return coin
}

function decimal(text: string): string {
  if (new RegExp(DECIMAL_PATTERN).test(text)) return text
  throw new InvalidArgumentError(
    'It must be a decimal such as 0.25, of at most 13 digits before the point. ' +
      'For the smallest unit use --amount-units.',
  )
}

class TwiceError extends BaseError {
  constructor() {
    super('--amount and --amount-units exclude each other. Give one of them.', {
      code: 'option_conflict',
    })
  }
}

class DecimalsUnknownError extends BaseError {
  constructor(token: string) {
    super(
      `No node returns the decimals of the token ${token}. ` +
        'Give the amount in its smallest unit: --amount-units.',
      { code: 'decimals_unknown' },
    )
  }
}

function unfit(of: {
  text: string
  coin: Coin
  token: string | undefined
  cause: AmountError
}): BaseError {
  const { text, coin, token, cause } = of
  const { symbol = `the token ${token}`, decimals } = coin
  const message =
    cause.code === 'amount_too_precise'
      ? `--amount ${text} has more decimals than ${symbol}, which has ${decimals}.`
      : `--amount ${text} cannot be read. ${cause.message}`
  return new BaseError(message, { code: cause.code, cause })
}
