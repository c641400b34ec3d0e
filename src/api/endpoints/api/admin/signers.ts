import { limits } from '../../../../base/limits.ts'
import { checksummed } from '../../../../chain/hex.ts'
import { CURRENCY_DECIMALS, formatAmount, STABLECOIN_DECIMALS } from '../../../../domain/money.ts'
import {
  isShort,
  type SignerFacts,
  type StablecoinFacts,
  type UserSigner,
} from '../../../../domain/signers.ts'
import {
  SignerListQuerySchema,
  SignerListSchema,
  type PlatformSignerWire,
  type StablecoinWire,
  type UserSignerWire,
} from '../../../../wire/group-b/signers.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { chainNamed, type Chains } from '../../../chains.ts'
import { pageOf } from '../../lists.ts'
import { ADMINISTRATION } from './administration.ts'

/** What is asked of the signers of a chain. */
export type SignersDeps = {
  signers: {
    platform: (signal: AbortSignal) => Promise<readonly SignerFacts[]>
    /** Undefined where the chain has none. */
    stablecoin: (signal: AbortSignal) => Promise<StablecoinFacts | undefined>
    users: (
      page: { afterId: number; limit: number },
      signal: AbortSignal,
    ) => Promise<readonly UserSigner[]>
  }
}

/** Every address that signs: the platform's own first, and the users' page by page. */
export function signerListEndpoint({ chains }: { chains: Chains<SignersDeps> }): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/signers',
    operationId: 'listSigners',
    summary: 'List the addresses that sign: what each is for, what it has and what it needs',
    description:
      'A balance, a nonce or an allowance is null while no provider answers. What is ' +
      'needed is the cost of the next hundred payments of the address at the current fees.',
    query: SignerListQuerySchema,
    answer: SignerListSchema,
    handle: async ({ query }) => {
      const { chainId, name, coin, signers } = chainNamed(chains, query.chain, 'query.chain')
      const signal = AbortSignal.timeout(limits.healthCheckMs)
      const [platform, stablecoin, { shown, last }] = await Promise.all([
        signers.platform(signal),
        signers.stablecoin(signal),
        pageOf(query.limit, (limit) => signers.users({ afterId: query.after_id, limit }, signal)),
      ])
      return {
        success: true as const,
        chain_id: chainId,
        chain: name,
        coin,
        stablecoin: stablecoin ? toStablecoin(stablecoin) : null,
        platform: platform.map(toPlatformSigner),
        users: shown.map(toUserSigner),
        next_after_id: last?.userId ?? null,
      }
    },
  })
}

export function toStablecoin({ address, isPaused, ...facts }: StablecoinFacts): StablecoinWire {
  return { ...facts, address: checksummed(address), is_paused: isPaused ?? null }
}

export function toPlatformSigner(facts: SignerFacts): PlatformSignerWire {
  const { mint, alerts } = facts
  return {
    ...fieldsOf(facts),
    mint: mint ? { is_minter: mint.isMinter, allowance: dollars(mint.allowance) } : null,
    alerts: alerts.map(({ kind, openedAt }) => ({ kind, since: openedAt.toISOString() })),
  }
}

function toUserSigner(facts: UserSigner): UserSignerWire {
  return { user_id: facts.userId, username: facts.username, ...fieldsOf(facts) }
}

function fieldsOf(facts: SignerFacts) {
  const { address, purposes, balance, nextNonce, onItsWay, gasToday, needed } = facts
  return {
    address: checksummed(address),
    purposes: [...purposes],
    balance_wei: balance === undefined ? null : String(balance),
    balance_decimal: balance === undefined ? null : ether(balance),
    next_nonce: nextNonce === undefined ? null : Number(nextNonce),
    on_its_way: onItsWay,
    gas_today_wei: String(gasToday),
    gas_today_decimal: ether(gasToday),
    needed_wei: needed === undefined ? null : String(needed),
    needed_decimal: needed === undefined ? null : ether(needed),
    is_short: isShort(facts) ?? null,
  }
}

function ether(amount: bigint): string {
  return formatAmount({ amount, decimals: CURRENCY_DECIMALS.ETH })
}

function dollars(amount: bigint): string {
  return formatAmount({ amount, decimals: STABLECOIN_DECIMALS, minDecimals: 2 })
}
