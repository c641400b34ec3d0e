import type { Clock } from '../../base/clock.ts'
import { readSignerOnChain } from '../../chain/read/signers.ts'
import { readPause } from '../../chain/read/token-state.ts'
import type { Providers } from '../../chain/rpc/providers.ts'
import type { Fees, Hex } from '../../domain/orders.ts'
import type {
  SignerFacts,
  SignerPurpose,
  StablecoinFacts,
  UserSigner,
} from '../../domain/signers.ts'
import type { Db } from '../../store/database/database.ts'
import { listSignerAlerts, listUserAddresses, readSignerLanes } from '../../store/orders/signers.ts'

/** Reads the addresses that sign: what the tables know of them, and what the chain does. */
export type SignerReader = {
  /** The platform's own, known without asking anybody. */
  own: ReadonlyArray<Pick<SignerFacts, 'address' | 'purposes'>>
  /** The platform's own. */
  platform: (signal: AbortSignal) => Promise<SignerFacts[]>
  /** The token that is configured; undefined where there is none. */
  stablecoin: (signal: AbortSignal) => Promise<StablecoinFacts | undefined>
  /** One page of the users', by the ids of the users. */
  users: (
    page: { afterId: number; limit: number },
    signal: AbortSignal,
  ) => Promise<readonly UserSigner[]>
}

export type SignerReaderDeps = {
  db: Db
  clock: Clock
  chainId: number
  providers: Pick<Providers, 'ask' | 'request'>
  quoteFees: (signal: AbortSignal) => Promise<Fees>
  platform: Hex
  /** The token that the platform may mint; undefined where nobody mints here. */
  mintsIn: Hex | undefined
  /** What that token has said of itself at the start. */
  token?: Omit<StablecoinFacts, 'address' | 'isPaused'>
}

export function createSignerReader(deps: SignerReaderDeps): SignerReader {
  const { db, chainId } = deps
  return {
    own: [{ address: deps.platform, purposes: purposesOf(deps) }],
    async platform(signal) {
      const signers = [deps.platform]
      const [facts, alerts] = await Promise.all([
        readFacts(deps, { signers, mintsIn: deps.mintsIn, purposes: purposesOf(deps), signal }),
        listSignerAlerts(db, { chainId, signers }),
      ])
      return facts.map((one) => ({
        ...one,
        alerts: alerts.filter(({ signer }) => signer === one.address),
      }))
    },
    stablecoin: (signal) => readOwnToken(deps, signal),
    async users(page, signal) {
      const owners = await listUserAddresses(db, page)
      const signers = owners.map(({ address }) => address)
      const purposes: SignerPurpose[] = deps.mintsIn ? ['payments', 'redeems'] : ['payments']
      const facts = await readFacts(deps, { signers, mintsIn: undefined, purposes, signal })
      return owners.map(({ userId, username }, place) => ({ ...facts[place]!, userId, username }))
    },
  }
}

async function readOwnToken(
  { providers, mintsIn: address, token }: SignerReaderDeps,
  signal: AbortSignal,
): Promise<StablecoinFacts | undefined> {
  if (address === undefined || token === undefined) return undefined
  const isPaused = await readPause(providers, { token: address, signal }).catch(() => undefined)
  const { symbol, decimals, profile } = token
  return { address, symbol, decimals, profile, isPaused }
}

function purposesOf({ mintsIn }: SignerReaderDeps): SignerPurpose[] {
  return mintsIn ? ['mints', 'withdrawals', 'refunds'] : ['refunds']
}

async function readFacts(
  deps: SignerReaderDeps,
  wanted: {
    signers: readonly Hex[]
    mintsIn: Hex | undefined
    purposes: readonly SignerPurpose[]
    signal: AbortSignal
  },
): Promise<SignerFacts[]> {
  const { db, clock, chainId, providers } = deps
  const { signers, mintsIn, purposes, signal } = wanted
  if (signers.length === 0) return []
  const [lanes, fees, ...onChain] = await Promise.all([
    readSignerLanes(db, { chainId, signers, today: startOfDay(clock.now()) }),
    deps.quoteFees(signal).catch(() => undefined),
    ...signers.map((signer) => readSignerOnChain(providers, { signer, mintsIn, signal })),
  ])
  return lanes.map((lane, place): SignerFacts => {
    const { balance, nonce, mint, isFrozen } = onChain[place]!
    const { signer: address, nextNonce, onItsWay, gasToday, usualGas = USUAL_GAS } = lane
    return {
      address,
      purposes,
      balance,
      nextNonce: nextNonce ?? nonce,
      onItsWay,
      gasToday,
      needed: fees && PAYMENTS_AHEAD * usualGas * fees.maxFeePerGas,
      mint,
      isFrozen,
      alerts: [],
    }
  })
}

/** An alert opens below what so many payments cost. */
const PAYMENTS_AHEAD = 100n

/** Of an address that has paid nothing yet: about what a mint or a settlement takes. */
const USUAL_GAS = 100_000n

function startOfDay(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()))
}
