import type { Clock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import { isCodeOf, settlement } from '../../src/chain/deployables.ts'
import type { Provider, RpcCall } from '../../src/chain/provider.ts'
import type { Fees, Hex } from '../../src/domain/orders.ts'
import { createReferenceCodec } from '../../src/domain/reference.ts'
import {
  DEFAULT_POLICY,
  type SenderContext,
  type SenderPolicy,
  type SenderProvider,
} from '../../src/sender/context.ts'
import { createSender, type Sender } from '../../src/sender/sender.ts'
import type { Db } from '../../src/store/database.ts'
import { CHAIN_ID, GWEI, type SimSigners, type World } from './sim/world.ts'

/** What a sender of a test stands on, where the test does not say otherwise. */
export type SenderParts = {
  db: Db
  providers: readonly SenderProvider[]
  signers: Pick<SimSigners, 'addresses' | 'sign'>
  clock: Clock
  policy?: Partial<SenderPolicy>
} & Partial<Pick<SenderContext, 'settlement' | 'stablecoin' | 'onMoved' | 'quoteFees' | 'pool'>>

/** Quick to act, and final after three blocks. */
export const TEST_POLICY: SenderPolicy = {
  ...DEFAULT_POLICY,
  confirmations: 3,
  inFlight: 4,
  rebroadcastMs: 4_000,
  bumpAfterMs: 15_000,
  noFundsMs: 60_000,
  leaseMs: 5_000,
  // A seed of the simulation does the same again only while one thing happens at a time.
  lanesAtOnce: 1,
}

export function contextOf(parts: SenderParts): SenderContext {
  const { providers, signers } = parts
  return {
    chainId: CHAIN_ID,
    sign: signers.sign,
    quoteFees: (signal) => quoteFrom(providers, signal),
    references: createReferenceCodec(new Uint8Array(32).fill(7)),
    settlement: SETTLEMENT,
    stablecoin: undefined,
    pool: signers.addresses,
    logger: createLogger({ level: 'silent' }),
    onMoved: () => Promise.resolve(),
    onEvent: () => undefined,
    ...parts,
    policy: { ...TEST_POLICY, ...parts.policy },
  }
}

export function senderOf(parts: SenderParts): Sender {
  return createSender(contextOf(parts))
}

/** An honest provider, and whatever the test lets it do instead. */
export function providerOf(
  { rpc }: World,
  { name = 'honest', intercept }: { name?: string; intercept?: Intercept } = {},
): Provider {
  const forward = (call: RpcCall) => rpc(call.method, call.params)
  return {
    name,
    request: (call) => (intercept === undefined ? forward(call) : intercept(call, forward)),
  }
}

export type Intercept = (
  call: RpcCall,
  forward: (call: RpcCall) => Promise<unknown>,
) => Promise<unknown>

const SETTLEMENT = {
  address: settlementAddress.toLowerCase() as Hex,
  isCode: (code: Hex) => isCodeOf(code, settlement()),
}

async function quoteFrom(providers: readonly Provider[], signal: AbortSignal): Promise<Fees> {
  for (const provider of providers) {
    try {
      const params = ['latest', false]
      const block = await provider.request({ method: 'eth_getBlockByNumber', params, signal })
      const base = BigInt((block as { baseFeePerGas: string }).baseFeePerGas)
      return { maxFeePerGas: 2n * base + GWEI, maxPriorityFeePerGas: GWEI }
    } catch {
      continue
    }
  }
  throw new Error('no provider told a price')
}
