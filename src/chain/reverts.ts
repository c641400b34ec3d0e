import { decodeErrorResult, toFunctionSelector } from 'viem/utils'

import { referenceDollarAbi, settlementAbi } from '../bindings/abis.ts'
import { messageOf } from '../base/errors.ts'
import { formatAmount, STABLECOIN_DECIMALS } from '../domain/money.ts'
import type { Hex } from './hex.ts'
import { isRefusal, isRevert, NO_FUNDS, revertDataOf } from './rpc/rpc-error.ts'

/** What a revert is about. `reverted` is what none of the others is. */
export type ReasonCode =
  | 'token_paused'
  | 'account_frozen'
  | 'minter_missing'
  | 'mint_allowance_exceeded'
  | 'token_balance_too_low'
  | 'token_allowance_too_low'
  | 'payee_refuses'
  | 'payee_invalid'
  | 'reference_used'
  | 'signature_invalid'
  | 'signature_expired'
  | 'out_of_gas'
  | 'no_funds_for_gas'
  | 'reverted'

/** Why a call fails on the chain: a code for programs, and a clause for people. */
export type Reason = {
  code: ReasonCode
  /** As in "The payment would fail: the token is paused." */
  words: string
  /** Whom the contract names: the frozen account, or who holds too little. */
  account?: Hex
  /** Whom the token did not pay, where the settlement contract passes its refusal on. */
  payee?: Hex
}

/**
 * The reason of a failed `eth_call` or `eth_estimateGas`: what the contract says, else what the
 * node does. Undefined where neither says anything.
 */
export function reasonOfFailure(error: unknown): Reason | undefined {
  const reason = reasonOfRevert(revertDataOf(error))
  if (reason !== undefined || !isRefusal(error)) return reason
  const text = messageOf(error)
  if (OUT_OF_GAS.test(text)) return { code: 'out_of_gas', words: 'it runs out of gas' }
  // A contract chooses the words of a revert.
  if (isRevert(error) || !NO_FUNDS.test(text)) return undefined
  return { code: 'no_funds_for_gas', words: 'the payer has no funds for its gas' }
}

const OUT_OF_GAS = /out of gas|gas required exceeds/i

/** The reason in the data of a revert; undefined for no data, and for what nobody knows. */
export function reasonOfRevert(data: Hex | undefined): Reason | undefined {
  const error = decoded(data)
  if (error?.name !== 'TransferRefused') return error && reasonOf(error)
  // Any contract can nest what a token said of a payee, so it is opened once.
  const [account, , data_] = error.args
  const inner = decoded(data_ as Hex)
  const said = inner && reasonOf(inner)
  const payee = String(account) as Hex
  const words = `the token does not pay ${payee}: ${said?.words ?? 'it gives no reason'}`
  return { code: 'payee_refuses', ...said, payee, words }
}

/** The reason where the chain keeps four bytes of it, as of an item that a batch could not pay. */
function reasonOfSelector(selector: Hex): Reason | undefined {
  const name = NAMES.get(selector.slice(0, 10).toLowerCase())
  return name === undefined ? undefined : reasonOf({ name, args: [] })
}

/** The same as a sentence, which there always is. */
export function sentenceOfSelector(selector: Hex): string {
  if (/^0x0*$/.test(selector)) return 'The payee or the token gives no reason.'
  const { words = `the error ${selector} is not known here` } = reasonOfSelector(selector) ?? {}
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`
}

/** The errors that are known carry nothing else. */
type Value = string | bigint | number | boolean

type ContractError = { name: string; args: readonly Value[] }

function decoded(data: Hex | undefined): ContractError | undefined {
  if (data === undefined || data === '0x') return undefined
  try {
    const { errorName: name, args } = decodeErrorResult({ abi: KNOWN_ERRORS, data })
    return { name, args }
  } catch {
    return undefined
  }
}

/** Those of our contracts, which have ERC-6093's for tokens among them; viem adds Solidity's. */
const KNOWN_ERRORS = [...referenceDollarAbi, ...settlementAbi]

const NAMES: ReadonlyMap<string, string> = new Map([
  ...KNOWN_ERRORS.flatMap((item) => {
    if (item.type !== 'error') return []
    const inputs: ReadonlyArray<{ type: string }> = item.inputs
    const signature = `${item.name}(${inputs.map(({ type }) => type).join(',')})`
    return [[toFunctionSelector(signature), item.name] as const]
  }),
  [toFunctionSelector('Error(string)'), 'Error'] as const,
  [toFunctionSelector('Panic(uint256)'), 'Panic'] as const,
])

function reasonOf({ name, args }: ContractError): Reason {
  if (name === 'Error') return reasonOfText(args[0])
  const told = ERRORS[name]
  if (told === undefined) return { code: 'reverted', words: `the contract refuses it with ${name}` }
  const [code, words] = told
  const [account] = ABOUT_AN_ACCOUNT.has(name) ? args : []
  return { code, words: words(args), ...(account !== undefined && { account: account as Hex }) }
}

/** What each error means. Only of a whole revert are there arguments. */
const ERRORS: Readonly<Record<string, [ReasonCode, (args: readonly Value[]) => string]>> = {
  EnforcedPause: ['token_paused', () => 'the token is paused'],
  AccountFrozen: ['account_frozen', ([who = 'an account']) => `the token has frozen ${who}`],
  MinterAllowanceExceeded: [
    'mint_allowance_exceeded',
    ([minter = 'the minter', has, amount]) =>
      has === undefined
        ? 'the minter cannot mint so much'
        : `${minter} can mint ${dollars(has)}, not ${dollars(amount)}`,
  ],
  ERC20InsufficientBalance: [
    'token_balance_too_low',
    ([who = 'the payer', has, needed]) =>
      has === undefined
        ? 'the payer has too little of the token'
        : `${who} has ${dollars(has)} of the token, and ${dollars(needed)} are needed`,
  ],
  ERC20InsufficientAllowance: ['token_allowance_too_low', () => 'the allowance is too low'],
  PermitRefused: ['token_allowance_too_low', () => 'the permit gives no allowance'],
  PaymentRefused: [
    'payee_refuses',
    ([payee, amount]) =>
      payee === undefined ? 'the payee refuses it' : `${payee} refuses ${amount}`,
  ],
  ERC20InvalidReceiver: ['payee_invalid', () => 'the token does not pay to this address'],
  InvalidPayee: ['payee_invalid', () => 'the contract does not pay to this address'],
  AlreadySettled: ['reference_used', () => 'its reference is settled already'],
  MemoAlreadyUsed: ['reference_used', () => 'its reference is used already'],
  InvalidSignature: ['signature_invalid', () => 'the signature is from another account'],
  ERC2612InvalidSigner: ['signature_invalid', () => 'the signature is from another account'],
  ERC3009InvalidSignature: ['signature_invalid', () => 'the signature is from another account'],
  IntentExpired: ['signature_expired', () => 'the signature has expired'],
  ERC2612ExpiredSignature: ['signature_expired', () => 'the signature has expired'],
  ERC3009InvalidAuthorizationTime: ['signature_expired', () => 'the signature is not valid now'],
  InsufficientGas: ['out_of_gas', () => 'it runs out of gas'],
}

const ABOUT_AN_ACCOUNT: ReadonlySet<string> = new Set([
  'AccountFrozen',
  'MinterAllowanceExceeded',
  'ERC20InsufficientBalance',
  'PaymentRefused',
  'ERC20InvalidReceiver',
])

/** A text in the words of USDC and of OpenZeppelin's older tokens; any other is quoted. */
function reasonOfText(text: Value | undefined): Reason {
  if (typeof text !== 'string') return { code: 'reverted', words: 'the contract gives a reason' }
  const words = `the contract says "${printable(text)}"`
  const known = TEXTS.find(([pattern]) => pattern.test(text))
  if (known === undefined) return { code: 'reverted', words }
  const [, code, plain] = known
  return { code, words: plain ?? words }
}

const TEXTS: ReadonlyArray<readonly [pattern: RegExp, code: ReasonCode, words?: string]> = [
  [/^Pausable: paused$/, 'token_paused', 'the token is paused'],
  [/^Blacklistable: account is blacklisted$/, 'account_frozen'],
  [/^FiatToken: caller is not a minter$/, 'minter_missing'],
  [/^FiatToken: mint amount exceeds minterAllowance$/, 'mint_allowance_exceeded'],
  [/^ERC20: (?:transfer|burn) amount exceeds balance$/, 'token_balance_too_low'],
  [/^FiatToken: burn amount exceeds balance$/, 'token_balance_too_low'],
  [/^ERC20: (?:transfer amount exceeds|insufficient) allowance$/, 'token_allowance_too_low'],
  [/^ERC20: (?:transfer|mint) to the zero address$/, 'payee_invalid'],
  [/^(?:FiatTokenV2|EIP2612|ECRecover): invalid signature/, 'signature_invalid'],
  [/^FiatTokenV2: (?:authorization|permit) is (?:expired|not yet valid)$/, 'signature_expired'],
]

/** The contract chooses the words, and a person reads them in one line. */
function printable(text: string): string {
  return text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').slice(0, MAX_WORDS)
}

const MAX_WORDS = 120

function dollars(amount: Value | undefined): string {
  return formatAmount({
    amount: typeof amount === 'bigint' ? amount : 0n,
    decimals: STABLECOIN_DECIMALS,
    minDecimals: 2,
  })
}
