import { codeOf } from '../../../base/errors.ts'
import { checksummed, parseAddress } from '../../../chain/hex.ts'
import type { Caller } from '../../../domain/access.ts'
import type { ChainNames } from '../../../domain/chains.ts'
import type { LedgerAmount, Wallet } from '../../../domain/ledger.ts'
import type { Hex } from '../../../domain/orders.ts'
import type { Issuer, ProfiledStablecoin } from '../../../ledger/context.ts'
import type { Db } from '../../../store/database/database.ts'
import { isHolderOfAnother } from '../../../store/ledger/transfers.ts'
import { findWallet, mainWallet } from '../../../store/ledger/wallets.ts'
import { RequestError } from '../../../wire/errors.ts'
import { refusal } from '../../../wire/group-a/money.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { chainCoded, type Chains } from '../../chains.ts'

/** The caller's wallet that pays, the main one where none is named; it holds enough, for now. */
export async function sourceWallet(
  db: Db,
  asked: { caller: Caller; id: string | undefined; money: LedgerAmount },
): Promise<Wallet> {
  const { caller, id, money } = asked
  const { userId } = caller
  const wallet =
    id === undefined
      ? await mainWallet(db, userId)
      : await findWallet(db, { userId, id: BigInt(id) })
  if (!wallet) throw notFound('source wallet', 1089)
  if (wallet.amount < money.amount) throw insufficientFunds()
  return wallet
}

export async function destinationWallet(
  db: Db,
  asked: { caller: Caller; id: string },
): Promise<Wallet> {
  const wallet = await findWallet(db, { userId: asked.caller.userId, id: BigInt(asked.id) })
  if (!wallet) throw notFound('destination wallet', 1069)
  return wallet
}

/** One of somebody else is as unknown as one that does not exist. */
export function notFound(what: string, groupA: number): RequestError {
  return new RequestError('not_found', `You have no ${what} with this id. Check it.`, { groupA })
}

/** The bank that sends what Group A pays; undefined where there is none. */
export type PayingBank = { kick: () => void } | undefined

/** Without a bank no wire would ever be sent, so that nothing is held or burnt for one. */
export function requireBank(bank: PayingBank): void {
  if (bank !== undefined) return
  const message =
    'No bank is configured that sends wires. Set QUITTANCE_BANK_KEY and QUITTANCE_BANK_ACCOUNT.'
  throw new RequestError('bank_not_configured', message, {
    problems: [{ field: 'destination.type', code: 'bank_not_configured', message, value: 'wire' }],
  })
}

/** Runs the work and answers what the ledger refuses. */
export async function answeringFunds<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (codeOf(error) === 'insufficient_funds' && !(error instanceof RequestError)) {
      throw insufficientFunds()
    }
    throw error
  }
}

function insufficientFunds(): RequestError {
  const message = 'The wallet has less than this. Send a smaller amount, or fund the wallet first.'
  const problems = [{ field: 'amount', code: 'insufficient_funds', message }]
  return new RequestError('insufficient_funds', message, { problems })
}

/** A chain, and the dollar that it has. */
export type DollarChain = { stablecoin: ProfiledStablecoin | undefined }

/** The chain of the code that is named, and its stablecoin, or a refusal. */
export function requireChain<Chain extends DollarChain>(
  chains: Chains<Chain>,
  named: { field: string; chain: string | undefined },
): Chain & ChainNames & { stablecoin: ProfiledStablecoin } {
  const { field, chain: code } = named
  const chain = chainCoded(chains, { field, code })
  const { stablecoin } = chain
  if (stablecoin !== undefined) return { ...chain, stablecoin }
  const message = 'This chain has no stablecoin. Set STABLECOIN_ADDRESS, or deploy one.'
  throw new RequestError('contract_not_configured', message, {
    problems: [{ field, code: 'contract_not_configured', message, value: code }],
  })
}

/**
 * Refuses what the platform cannot do on this token, before anything is promised. A token whose
 * functions carry no memo tells no order from another, unless it is one such as USDC, of which the
 * platform is a minter.
 */
export async function requireIssuable(
  { token, profile, issuer }: ProfiledStablecoin,
  asked: { field: string; chain: string; what: 'minted' | 'redeemed' },
): Promise<void> {
  if (profile === 'memo') return
  const { field, chain, what } = asked
  const refuse = (code: string, why: string): RequestError => {
    const message = `Nothing can be ${what} on this chain: ${why}`
    const problems = [{ field, code, message, value: chain }]
    return new RequestError('contract_not_configured', message, { problems })
  }
  if (issuer === undefined) {
    const needed = what === 'minted' ? 'mintWithMemo' : 'burnWithMemo'
    const why =
      `the token ${checksummed(token)} has no ${needed}, which identify an order. ` +
      'Configure a token that has it: STABLECOIN_ADDRESS.'
    throw refuse('token_without_memos', why)
  }
  if (await isMinter(issuer)) return
  const why =
    `the platform's address ${checksummed(issuer.address)} is not a minter of the token ` +
    `${checksummed(token)}. Its issuer mints and redeems it. Here you can pay and receive it.`
  throw refuse('not_a_minter', why)
}

async function isMinter(issuer: Issuer): Promise<boolean> {
  try {
    return await issuer.isMinter()
  } catch (cause) {
    const message = 'No provider answers now whether the platform is a minter. Try again later.'
    throw new RequestError('upstream_failed', message, { cause })
  }
}

/** An address that somebody can hold money at, in lower case. */
export function requireAddress(named: { field: string; text: string; token: Hex }): Hex {
  const { field, text, token } = named
  const address = parseAddress(text)
  if (address !== undefined && address !== token && BigInt(address) !== 0n) return address
  const message = 'This address cannot hold money, or its checksum is wrong. Check it.'
  throw refusal({ field, code: 'address', message, value: text.slice(0, 100) }, 5014)
}

/** Tokens without a memo are attributed by their sender alone, so each address is one user's. */
export async function requireHolder(
  db: Db,
  { userId, holder }: { userId: number; holder: Hex | undefined },
): Promise<void> {
  const field = 'source.address'
  if (holder === undefined) {
    const message = 'This token has no memos. Send the address that returns the tokens.'
    throw invalidRequest([{ field, code: 'required', message }])
  }
  if (!(await isHolderOfAnother(db, { userId, holder }))) return
  const message = 'Another user redeems from this address. Use your own address.'
  throw refusal({ field, code: 'address', message, value: holder }, 5014)
}
