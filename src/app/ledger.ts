import { randomBytes } from 'node:crypto'

import type { Minting } from '../api/endpoints/v1/business-account/transfers.ts'
import { createTeller } from '../api/endpoints/v1/shown.ts'
import type { Burning, Withdrawing } from '../api/endpoints/v1/transfers.ts'
import type { Clock } from '../base/clock.ts'
import type { Withdrawals } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import { BaseError, codeOf } from '../base/errors.ts'
import type { Signers } from '../chain/signers/signer.ts'
import type { FoundContracts } from '../chain/read/contracts.ts'
import { readMintRight } from '../chain/read/mint-right.ts'
import { callToken } from '../chain/read/signers.ts'
import { NOBODY, type Route } from '../domain/orders.ts'
import type { Issuer, LedgerContext, ProfiledStablecoin, Stablecoin } from '../ledger/context.ts'
import { moveByMint } from '../ledger/mints.ts'
import { failRedeemByBurn } from '../ledger/redeems.ts'
import { moveByWithdrawal } from '../ledger/withdrawals.ts'
import { lower, PLATFORM } from '../sender/accounts.ts'
import type { SenderContext } from '../sender/context.ts'
import type { PreparedOrder } from '../sender/prepare.ts'
import { recordMoves } from '../sender/record.ts'
import { NeededFirstError } from '../store/database/trouble.ts'
import type { Chain } from './chain.ts'
import type { Paying } from './sender.ts'

/** What payments, transfers, mints and redeems need. */
export function createLedger(deps: {
  clock: Clock
  stablecoinOn: LedgerContext['stablecoinOn']
  bank: string | undefined
}): LedgerContext {
  return { ...deps, randomBytes, ...createTeller(deps) }
}

/** The dollar of a chain, where it has one. */
export function dollarOf({
  chain: { chainId, providers },
  contracts: { stablecoin, token },
  signers,
}: {
  chain: Pick<Chain, 'chainId' | 'providers'>
  contracts: FoundContracts
  signers: Pick<Signers, 'at'>
}): ProfiledStablecoin | undefined {
  if (stablecoin === undefined || token === undefined) return undefined
  const coin = { token: lower(stablecoin), chainId, profile: token.profile }
  const isFiat = coin.profile === 'fiat_token'
  return { ...coin, issuer: isFiat ? issuerOf(providers, { coin, signers }) : undefined }
}

/** The platform as an issuer, for a token that can have other minters as well. */
function issuerOf(
  providers: Chain['providers'],
  of: { coin: Stablecoin; signers: Pick<Signers, 'at'> },
): Issuer {
  const address = lower(of.signers.at(PLATFORM).address)
  return {
    address,
    async isMinter() {
      const signal = AbortSignal.timeout(limits.handlerTimeoutMs)
      const call = { to: of.coin.token, signal }
      const right = await readMintRight((data) => callToken(providers, { ...call, data }), address)
      return right.isMinter
    },
  }
}

/** Orders pay mints or transactions, and move them in the same SQL transaction. */
export function createOnMoved(ledger: LedgerContext): SenderContext['onMoved'] {
  return async (db, moves) => {
    const {
      mint = [],
      burn = [],
      others = [],
    } = Object.groupBy(moves, ({ order: { route, subject } }) =>
      isTransaction(subject) ? 'others' : (OF_TRANSFERS[route] ?? 'others'),
    )
    for (const move of mint) await moveByMint(ledger, db, move)
    for (const move of burn) await failRedeemByBurn(ledger, db, move)
    await recordMoves(db, others)
    for (const move of others) {
      const { route, subject } = move.order
      if (WITHDRAWING.has(route) && isTransaction(subject)) await moveByWithdrawal(ledger, db, move)
    }
  }
}

/** What an order under the id of a transfer is for. A redeem of USDC goes to its issuer. */
const OF_TRANSFERS: Partial<Record<Route, 'mint' | 'burn'>> = {
  mint: 'mint',
  burn: 'burn',
  transfer: 'burn',
}

/** Mints and redeems are orders under ids of their own. */
function isTransaction(subject: string): boolean {
  return subject.startsWith('TX')
}

const WITHDRAWING: ReadonlySet<Route> = new Set<Route>(['mint', 'token', 'permit', 'transfer'])

/** Each user's own address burns, or sends USDC back to its issuer. */
export function createBurning(
  { sender, payments }: Paying,
  { issuer: issuing, signal }: { issuer: Issuer | undefined; signal: AbortSignal },
): Burning<PreparedOrder> {
  const issuer = issuing?.address
  const back =
    issuer === undefined
      ? ({ route: 'burn', payee: NOBODY } as const)
      : ({ route: 'transfer', payee: issuer } as const)
  return {
    addressOf: payments.addressOf,
    prepare: (db, burn) => {
      // What is burnt goes to a bank, wherever the caller says.
      const order = { ...burn, way: 'wire', ...back } as const
      return sender.prepare(db, order, signal)
    },
    accept: sender.accept,
    kick: sender.kick,
  }
}

/** What pays a withdrawal, and how it is minted where what is held turns out to be promised. */
export type PreparedWithdrawal = {
  payment: PreparedOrder
  mint: (() => Promise<PreparedOrder>) | undefined
}

/**
 * The platform pays withdrawals out of the dollars that it has, or mints them, or does the one
 * where the other does not suffice.
 */
export function createWithdrawing(
  { sender, platform }: Pick<Paying, 'sender' | 'platform'>,
  of: {
    withdrawals: Withdrawals
    stablecoin?: ProfiledStablecoin | undefined
    hasSettlement: boolean
    signal: AbortSignal
  },
): Withdrawing<PreparedWithdrawal> {
  const { stablecoin, hasSettlement, signal } = of
  const paid = hasSettlement
    ? ({ route: 'token', withAllowance: true } as const)
    : ({ route: 'transfer' } as const)
  const withdrawing: Withdrawing<PreparedWithdrawal> = {
    prepare: async (db, asked) => {
      const order = { ...asked, way: 'withdrawal', payer: platform } as const
      const mint = () => sender.prepare(db, { ...order, route: 'mint' }, signal)
      const withdrawals = await possibleOf(of.withdrawals, stablecoin)
      if (withdrawals === 'mint') return { payment: await mint(), mint: undefined }
      const instead = withdrawals === 'holdings' ? undefined : mint
      try {
        return { payment: await sender.prepare(db, { ...order, ...paid }, signal), mint: instead }
      } catch (error) {
        if (codeOf(error) !== 'insufficient_funds') throw error
        if (instead === undefined) throw holdingsTooSmall(error)
        return { payment: await instead(), mint: undefined }
      }
    },
    accept: async (db, prepared) => {
      try {
        return await sender.accept(db, prepared.payment)
      } catch (error) {
        const { payment, mint } = prepared
        if (codeOf(error) !== 'insufficient_funds' || payment.route === 'mint') throw error
        if (mint === undefined) throw holdingsTooSmall(error)
        // What the platform holds is on its way to somebody else.
        throw new NeededFirstError(async () => {
          Object.assign(prepared, { payment: await mint(), mint: undefined })
        })
      }
    },
    kick: sender.kick,
  }
  const { prepare, accept } = withdrawing
  return {
    ...withdrawing,
    prepare: (db, asked) => sender.own(db, platform, () => prepare(db, asked)),
    accept: (db, prepared) => sender.own(db, platform, () => accept(db, prepared)),
  }
}

/**
 * A token without memos is minted by one of its minters alone, who mints all that it pays: what
 * holders have sent back to it is not to go out again.
 */
async function possibleOf(
  wanted: Withdrawals,
  stablecoin: ProfiledStablecoin | undefined,
): Promise<Withdrawals> {
  if (stablecoin === undefined || stablecoin.profile === 'memo') return wanted
  if (wanted === 'holdings' || !(await stablecoin.issuer?.isMinter())) return 'holdings'
  return 'mint'
}

function holdingsTooSmall(cause: unknown): BaseError {
  return new BaseError(
    'The platform has too little for this withdrawal and those in progress, and does not ' +
      'mint for withdrawals. Withdraw less, or try again later.',
    { code: 'holdings_too_small', cause },
  )
}

/** The platform's own signer mints, for every user. */
export function createMinting(
  { sender, platform }: Paying,
  signal: AbortSignal,
): Minting<PreparedOrder> {
  return {
    prepare: (db, mint) => {
      const order = { ...mint, way: 'mint', route: 'mint', payer: platform } as const
      return sender.own(db, platform, () => sender.prepare(db, order, signal))
    },
    accept: (db, prepared) => sender.own(db, platform, () => sender.accept(db, prepared)),
    kick: sender.kick,
  }
}
