import { createOnMoved, createWithdrawing } from '../../../../src/app/ledger.ts'
import { createLogger } from '../../../../src/base/logger.ts'
import { settlementAddress } from '../../../../src/bindings/addresses.ts'
import { createFinal } from '../../../../src/chain/read/final.ts'
import { createIncomingReader } from '../../../../src/chain/read/incoming.ts'
import { createSupplyReader } from '../../../../src/chain/read/supply.ts'
import type { Hex } from '../../../../src/domain/orders.ts'
import type { Token } from '../../../../src/domain/tokens.ts'
import type { LedgerContext, Stablecoin } from '../../../../src/ledger/context.ts'
import { createSupplyWatch } from '../../../../src/ledger/watch-supply.ts'
import { createHoldingReader } from '../../../../src/chain/read/holdings.ts'
import { balancePass } from '../../../../src/rails/balances.ts'
import { depositPass } from '../../../../src/rails/deposits.ts'
import { listSigned, readDepositCursor } from '../../../../src/store/rails/deposits.ts'
import { claimAddress } from '../../../../src/store/transactions/addresses.ts'
import { makeUser } from '../../../fixtures/api/access.ts'
import { ledgerOf, makeWallets } from '../../../fixtures/books/money.ts'
import { senderOf } from '../../../fixtures/books/sender.ts'
import { permittedDollarAt } from '../../../fixtures/books/tokens.ts'
import { createTestClock } from '../../../fixtures/clock.ts'
import { createKeyedRandom, createRandom } from '../../../fixtures/random.ts'
import { togetherOf } from '../../../fixtures/together.ts'
import { countOpenOrders } from '../check.ts'
import { createFaults, createLife, survive, type Ground, type Life } from '../life.ts'
import { drawPlan, FAULT_KINDS } from '../plan.ts'
import {
  beginStep,
  countFaults,
  createProviders,
  weightsOf,
  type Play,
  type RunOptions,
} from '../run.ts'
import {
  adminOf,
  addressFrom,
  CHAIN_ID,
  CONFIRMATIONS,
  createSigners,
  ETHER,
  GWEI,
  placeDollar,
  START,
  toHex,
} from '../world.ts'
import { mint } from './acts.ts'
import { ACTS } from './chances.ts'
import { countMoney, lateAccounts, moneyWrongs } from './check.ts'
import { countPermits, wrongsOfPermits } from './permits.ts'
import { DEPOSIT, type Living, type MoneySim } from './sim.ts'

/** Money: it is minted, burnt and paid through the faults of a plan, and all of it is checked. */
export const MONEY_PLAY: Play = {
  acts: Object.keys(ACTS),
  // One worker, whose price is right.
  faults: FAULT_KINDS.filter((kind) => !['pause', 'quote', 'down'].includes(kind)),
  outcomes: [
    'payments by permit completed',
    'permits used ahead',
    'bundled payouts completed',
    'withdrawals complete',
    'deposits',
  ],
  plan: (seed) => drawPlan(seed, { weights: weightsOf(ACTS), count: [18, 22] }),
  async run(options) {
    const { plan } = options
    const { sim, crashes } = await startMoneySim(options)
    await watchInPeace(sim)
    await mintInPeace(sim)
    for (const { act, at } of plan.steps) {
      beginStep(sim, plan, at)
      await ACTS[act]!.act(sim)
      if (sim.random.chance(0.6)) await passOnce(sim)
    }
    sim.random = createRandom(`rest ${plan.seed}`)
    await comeToRest(sim)
    const money = { ...(await countMoney(sim)), ...(await countPermits(sim)) }
    const counts = { ...money, ...countFaults(plan, sim.faults) }
    const wrongs = [...(await moneyWrongs(sim)), ...(await wrongsOfPermits(sim))]
    return { seed: plan.seed, wrongs, counts: { ...counts, crashes: crashes() } }
  },
}

async function startMoneySim({
  plan: { seed, without },
  db,
  world,
}: RunOptions): Promise<{ sim: MoneySim; crashes: () => number }> {
  const random = createRandom(`money ${seed}`)
  const draw = createKeyedRandom(`money fault ${seed}`)
  const clock = createTestClock(START)
  const faults = createFaults({ crashChance: random.pick([0, 0.002, 0.01]), without })
  await world.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(GWEI)])
  const signers = await createSigners(world, { seed: `minter ${seed}`, count: 2 })
  const holders = await createSigners(world, { seed: `holder ${seed}`, count: 2 })
  const [minter, custodian] = signers.addresses as [Hex, Hex]
  const dollar = await placeDollar(world, { minter, allowance: 10n ** 15n })
  const asAdmin = await adminOf(world, dollar)
  await world.mine(CONFIRMATIONS)
  const tokens = [await permittedDollarAt(world, dollar)]
  const stablecoin = { token: dollar, chainId: CHAIN_ID, profile: 'memo' as const }
  const ledger = ledgerOf({ stablecoin, clock, randomBytes: random.bytes })
  const { id: userId } = await makeUser(db)
  await claimAddress(db, { userId, address: custodian })
  const { main: wallet } = await makeWallets(db, userId, DEPOSIT)
  const heaviness = random.pick([0.5, 1, 1, 5])
  const asked = { world, draw, faults, heaviness, panel: 'three', sent: new Set<string>() } as const
  const providers = createProviders(asked)
  let life: Life | undefined
  let process: Living | undefined
  let crashes = 0
  const ground = { seed, random, world, db, signers, clock, faults }
  const living = (): Living => {
    if (life?.isOver()) crashes += 1
    if (process !== undefined && life?.isOver() === false) return process
    life = createLife({ db, providers, draw, faults })
    process = beginLiving(life, { ...ground, ledger, stablecoin, tokens, minter })
    return process
  }
  const told = {
    toldMints: [],
    toldRedeems: [],
    toldOwnRedeems: [],
    payouts: [],
    withdrawals: [],
    fundsMoved: [],
    usedPermits: [],
    since: 0,
  }
  const whose = { minter, custodian, holders, userId, wallet }
  const sim = { ...ground, dollar, asAdmin, ...whose, ledger, living, ...told }
  return { sim, crashes: () => crashes }
}

function beginLiving(
  { db, providers: faulty, sign }: Life,
  parts: Pick<Ground, 'signers' | 'clock' | 'random'> & {
    ledger: LedgerContext
    stablecoin: Stablecoin
    tokens: readonly Token[]
    minter: Hex
  },
): Living {
  const { signers, clock, random, ledger, stablecoin, tokens, minter: platform } = parts
  const providers = togetherOf(faulty)
  const { token, chainId } = stablecoin
  const logger = createLogger({ level: 'silent' })
  const readFinal = createFinal({ providers, finality: CONFIRMATIONS })
  const { signal } = new AbortController()
  const sender = senderOf({
    db,
    clock,
    providers: faulty,
    signers: { ...signers, sign: sign(signers.sign), signTyped: sign(signers.signTyped) },
    policy: { confirmations: CONFIRMATIONS },
    stablecoin: token,
    tokens,
    onMoved: createOnMoved(ledger),
  })
  const settlement = settlementAddress.toLowerCase() as Hex
  const supply = createSupplyReader({ providers, token })
  const reading = { db, clock, logger, readFinal }
  return {
    db,
    sender,
    watch: createSupplyWatch({
      ...reading,
      stablecoin,
      context: ledger,
      supply,
      pollIntervalMs: 100,
    }),
    withdrawing: createWithdrawing(
      { sender, platform },
      { withdrawals: 'holdings-then-mint', hasSettlement: true, signal },
    ),
    deposits: {
      ...reading,
      chainId,
      tokens,
      own: [platform],
      checkoutPayee: platform,
      readBlock: supply.block,
      incoming: createIncomingReader({
        providers,
        tokens: [token],
        settlement,
        signedOf: (hashes) => listSigned(db, { chainId, hashes }),
      }),
      randomBytes: random.bytes,
    },
    balances: {
      db,
      clock,
      logger,
      chainId,
      tokens,
      own: [platform],
      holding: createHoldingReader(providers),
      policy: { roundMs: 15_000, peaceMs: 1_000, limit: 8 },
    },
  }
}

/** Deposits are recorded from the first final block that was seen on. */
async function watchInPeace(sim: MoneySim): Promise<void> {
  sim.faults.areOn = false
  const { signal } = new AbortController()
  await depositPass(sim.living().deposits, signal)
  await balancePass(sim.living().balances, signal)
  sim.since = Number((await readDepositCursor(sim.db, CHAIN_ID))!.blockNumber) + 1
  sim.faults.areOn = true
}

/** So that there is something to burn from the start. */
async function mintInPeace(sim: MoneySim): Promise<void> {
  sim.faults.areOn = false
  for (const to of [...sim.holders.addresses, sim.custodian]) {
    for (let mints = 0; mints < 2; mints++) await mint(sim, to)
  }
  await passOnce(sim)
  await sim.world.mine(CONFIRMATIONS + 1)
  sim.faults.areOn = true
}

async function passOnce({ clock, random, living }: MoneySim): Promise<void> {
  clock.advance(1_000 + random.below(9_000))
  const { signal } = new AbortController()
  await survive(() => living().sender.pass(signal))
  await survive(() => living().watch.pass(signal))
  await survive(() => depositPass(living().deposits, signal))
  await survive(() => balancePass(living().balances, signal))
}

/** Faults for a while longer, then none, until every order is decided and all blocks are read. */
async function comeToRest(sim: MoneySim): Promise<void> {
  const { world, signers, holders, db, faults } = sim
  for (const address of holders.addresses) {
    await world.rpc('anvil_setBalance', [address, toHex(1_000n * ETHER)])
  }
  // By a transfer, since every wei of these is accounted for.
  const from = addressFrom('a benefactor')
  await world.rpc('anvil_setBalance', [from, toHex(10_000n * ETHER)])
  await world.rpc('anvil_impersonateAccount', [from])
  for (const to of signers.addresses) {
    const call = { from, to, value: toHex(1_000n * ETHER), gasPrice: toHex(1_000n * GWEI) }
    await world.rpc('eth_sendTransaction', [call])
  }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    faults.areOn = round < 3
    await passOnce(sim)
    await world.mine(3)
    if (round > 3 && (await countOpenOrders(db, world)) === 0) break
  }
  await world.mine(CONFIRMATIONS)
  const { signal } = new AbortController()
  for (let pass = 0; pass < MAX_ROUNDS; pass++) {
    const { watch, deposits, balances } = sim.living()
    const more = [await watch.pass(signal), await depositPass(deposits, signal)]
    // What was seen is looked at again, and again behind each gap.
    sim.clock.advance(balances.policy.roundMs)
    await balancePass(balances, signal)
    if (!more.includes(true) && (await lateAccounts(sim)).length === 0) return
  }
}

const MAX_ROUNDS = 200
