import { concatHex } from 'viem/utils'

import { groupsOf } from '../../base/groups.ts'
import { data, quantity, toQuantity, word } from '../answers.ts'
import type { Hex } from '../hex.ts'
import type { Providers } from '../rpc/providers.ts'
import { askAgreed, askOne } from './agreed.ts'
import { holdingCall } from './token.ts'

/** What addresses had at a block, as all providers say that answer. */
export type HoldingReader = {
  /**
   * The balance of each account in the order of the accounts, or why it cannot be read: providers
   * differ, or no longer have that state.
   */
  balances: (
    of: { accounts: readonly HeldAccount[]; blockNumber: bigint },
    signal: AbortSignal,
  ) => Promise<PromiseSettledResult<bigint>[]>
  /** How many transactions the address had signed. */
  nonce: (of: { address: Hex; blockNumber: bigint }, signal: AbortSignal) => Promise<bigint>
}

/** An address and one coin; the empty token is the native one. */
export type HeldAccount = { address: Hex; token: Hex | '' }

/**
 * Many balances of one coin are one call. Where a provider does not take that call, or providers
 * differ in it, each balance of it is asked for by itself.
 */
export function createHoldingReader(providers: Pick<Providers, 'askAll'>): HoldingReader {
  return {
    async balances({ accounts, blockNumber }, signal) {
      const at = toQuantity(blockNumber)
      const read = new Map<HeldAccount, PromiseSettledResult<bigint>>()
      await Promise.all(
        inCalls(accounts).map(async (group) => {
          const outcomes = await readGroup(providers, { group, at, signal })
          for (const [place, account] of group.entries()) read.set(account, outcomes[place]!)
        }),
      )
      return accounts.map((account) => read.get(account)!)
    },
    nonce: ({ address, blockNumber }, signal) =>
      askAgreed(providers, {
        call: {
          method: 'eth_getTransactionCount',
          params: [address, toQuantity(blockNumber)],
          signal,
        },
        read: (result) => quantity(result, 'nonce'),
      }),
  }
}

function inCalls(accounts: readonly HeldAccount[]): HeldAccount[][] {
  const byToken = [...Map.groupBy(accounts, ({ token }) => token).values()]
  return byToken.flatMap((own) => groupsOf(own, AT_ONCE))
}

/** A million gas in a token that is a proxy, and 6 KB of answer: nodes allow many times that. */
const AT_ONCE = 200

type Group = { group: readonly HeldAccount[]; at: Hex; signal: AbortSignal }

async function readGroup(
  providers: Pick<Providers, 'askAll'>,
  { group, at, signal }: Group,
): Promise<PromiseSettledResult<bigint>[]> {
  if (group.length > 1) {
    try {
      const balances = await askAgreed(providers, {
        call: { method: 'eth_call', params: [{ data: programOf(group) }, at], signal },
        read: (result) => words(result, group.length),
      })
      return balances.map((value) => ({ status: 'fulfilled', value }))
    } catch {
      // Of each by itself it is known which one it is about.
    }
  }
  return Promise.allSettled(group.map((account) => readOne(providers, { account, at, signal })))
}

function readOne(
  providers: Pick<Providers, 'askAll'>,
  { account: { address, token }, at, signal }: { account: HeldAccount } & Omit<Group, 'group'>,
): Promise<bigint> {
  if (token === '') {
    const call = { method: 'eth_getBalance', params: [address, at], signal }
    return askAgreed(providers, { call, read: (result) => quantity(result, 'balance') })
  }
  const params = [{ to: token, data: holdingCall(address) }, at]
  const call = { method: 'eth_call', params, signal }
  return askAgreed(providers, { call, read: (result) => word(result, 'balance') })
}

/** What a creation would leave as code: the balance of each address, a word each. */
function programOf(group: readonly HeldAccount[]): Hex {
  const [{ token } = { token: '' }] = group
  const inWords = group.map(({ address }) => address.slice(2).padStart(64, '0'))
  if (token === '') return `${NATIVE_BALANCES}${inWords.join('')}`
  return `${TOKEN_BALANCES}${token.slice(2).padStart(64, '0')}${inWords.join('')}`
}

/** For each word behind the program: CODECOPY it, BALANCE, MSTORE; then RETURN all. */
const NATIVE_BALANCES = '0x60005b60243803811015602057602081602401823980513181526020016002565b6000f3'

/**
 * The first word behind the program is the token. For each other one: CODECOPY it behind the
 * selector of `balanceOf`, STATICCALL the token with it, REVERT where it fails or answers less than
 * a word; then RETURN all.
 */
const TOKEN_BALANCES: Hex = concatHex([
  '0x6370a0823160e01b6000526020605560403960405160205b60553803811015604857602081605501',
  '0x60043960208160200160246000855afa60203d109015176050576020016017565b602090036040f35b600080fd',
])

function words(result: unknown, count: number): bigint[] {
  const bytes = data(result, 'balances', count * 32).slice(2)
  return Array.from({ length: count }, (_, at) => {
    return BigInt(`0x${bytes.slice(at * 64, (at + 1) * 64)}`)
  })
}

type Asker = Pick<Providers, 'ask'>

/** In wei, as the best provider has it now. */
export async function readBalance(
  providers: Asker,
  { holder, signal }: { holder: Hex; signal: AbortSignal },
): Promise<bigint> {
  const call = { method: 'eth_getBalance', params: [holder, 'latest'], signal }
  return askOne(providers, call, (value) => quantity(value, 'balance'))
}

/** In the smallest unit of the token, as the best provider has it now. */
export async function readTokenBalance(
  providers: Asker,
  { token, holder, signal }: { token: Hex; holder: Hex; signal: AbortSignal },
): Promise<bigint> {
  const params = [{ to: token, data: holdingCall(holder) }, 'latest']
  const call = { method: 'eth_call', params, signal }
  return askOne(providers, call, (value) => word(value, 'balance'))
}
