import { decodeErrorResult, decodeFunctionResult, encodeFunctionData } from 'viem/utils'

import { referenceDollarAbi, settlementAbi } from '../bindings/abis.ts'
import { checksummed } from '../chain/hex.ts'
import { revertDataOf } from '../chain/rpc/rpc-error.ts'
import { formatAmount, STABLECOIN_DECIMALS } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'

/**
 * Why a simulated call reverted, in words: what the contracts of this platform say, or a text that
 * another contract gives. Undefined where nobody says anything.
 */
export function reasonOfRevert(cause: unknown): string | undefined {
  const { refused, said } = readRevert(cause)
  const reason =
    said && (REASONS[said.name]?.(said.args) ?? `the contract refuses it with ${said.name}`)
  if (refused === undefined) return reason
  return `the token does not pay ${refused}: ${reason ?? 'it gives no reason'}`
}

type RevertError = { name: string; args: readonly unknown[] }

/**
 * The settlement contract passes on what a token said of a payee. Any contract can nest that, so it
 * is opened once.
 */
function readRevert(cause: unknown): { refused?: string; said: RevertError | undefined } {
  const error = decoded(revertDataOf(cause))
  if (error?.name !== 'TransferRefused') return { said: error }
  const [payee, , inner] = error.args
  return { refused: String(payee), said: decoded(inner as Hex) }
}

function decoded(data: Hex | undefined): RevertError | undefined {
  if (data === undefined || data === '0x') return undefined
  try {
    const { errorName: name, args } = decodeErrorResult({ abi: KNOWN_ERRORS, data })
    return { name, args }
  } catch {
    return undefined
  }
}

const KNOWN_ERRORS = [...referenceDollarAbi, ...settlementAbi]

const REASONS: Readonly<Record<string, (args: readonly unknown[]) => string>> = {
  AccountFrozen: ([account]) => `the token has frozen ${String(account)}`,
  EnforcedPause: () => 'the token is paused',
  MinterAllowanceExceeded: ([minter, allowance, amount]) =>
    `${String(minter)} may mint ${dollars(allowance)}, not ${dollars(amount)}`,
  PaymentRefused: ([payee, amount]) => `${String(payee)} refuses ${String(amount)}`,
  Error: ([text]) => `the contract says "${printable(String(text))}"`,
}

/** Whether the token is paused, in the words of ReferenceDollar and of USDC. */
export function isPause(cause: unknown): boolean {
  const { name, args } = readRevert(cause).said ?? {}
  return name === 'EnforcedPause' || (name === 'Error' && args?.[0] === 'Pausable: paused')
}

/** The contract chooses the words, and a person reads them in one line. */
function printable(text: string): string {
  return text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').slice(0, MAX_WORDS)
}

const MAX_WORDS = 120

function dollars(amount: unknown): string {
  return formatAmount({
    amount: typeof amount === 'bigint' ? amount : 0n,
    decimals: STABLECOIN_DECIMALS,
    minDecimals: 2,
  })
}

/** What a token lets an address mint. */
type MintRight = { allowance: bigint; isMinter: boolean }

/** Asks the token by calls; rejects where it does not answer them as a ReferenceDollar does. */
export async function readMintRight(
  call: (data: Hex) => Promise<Hex>,
  minter: Hex,
): Promise<MintRight> {
  const abi = referenceDollarAbi
  const [allowance, minters] = await Promise.all([
    call(encodeFunctionData({ abi, functionName: 'minterAllowance', args: [minter] })),
    call(encodeFunctionData({ abi, functionName: 'minters' })),
  ])
  const list = decodeFunctionResult({ abi, functionName: 'minters', data: minters })
  return {
    allowance: decodeFunctionResult({ abi, functionName: 'minterAllowance', data: allowance }),
    isMinter: list.some((one) => one.toLowerCase() === minter),
  }
}

type MintRefusal = { code: string; sentence: string }

/** Why the platform cannot mint this, or undefined where its right is enough. */
export function refusalOfMint(mint: {
  token: Hex
  minter: Hex
  amount: bigint
  right: MintRight
}): MintRefusal | undefined {
  const { amount, right } = mint
  const { allowance, isMinter } = right
  if (allowance >= amount) return undefined
  const [token, minter] = [checksummed(mint.token), checksummed(mint.minter)]
  const remedy = `Its admin calls configureMinter(${minter}, allowance).`
  if (!isMinter) {
    const who = `The platform's address ${minter}`
    const sentence = `${who} is not a minter of the token ${token}. ${remedy}`
    return { code: 'minter_missing', sentence: `Nothing was minted. ${sentence}` }
  }
  if (allowance === 0n) {
    const who = `The platform's address ${minter}`
    const sentence = `${who} has no allowance left to mint the token ${token}.`
    return { code: 'mint_allowance_used_up', sentence: `Nothing was minted. ${sentence} ${remedy}` }
  }
  return {
    code: 'mint_allowance_exceeded',
    sentence:
      `Nothing was minted. The platform may mint ${dollars(allowance)} more of the token ` +
      `${token}, and ${dollars(amount)} were asked for. Mint less, or wait until its allowance is raised.`,
  }
}
