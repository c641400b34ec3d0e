import { randomBytes } from 'node:crypto'

import { encodeFunctionData } from 'viem'
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts'

import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { referenceDollarAbi, settlementAbi } from '../../src/bindings/abis.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import { createProviders } from '../../src/chain/providers.ts'
import { createFinal } from '../../src/chain/final.ts'
import { createPaidReceiptReader } from '../../src/chain/paid-receipts.ts'
import { createSettlementReader } from '../../src/chain/settlements.ts'
import { createSupplyReader } from '../../src/chain/supply.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { checkoutPass, type CheckoutDeps } from '../../src/rails/checkout.ts'
import { findCharge, type Charge } from '../../src/store/charges.ts'
import type { Db } from '../../src/store/database.ts'
import { createBench, type Bench } from './sender-bench.ts'
import { CHAIN_ID, ETHER, placeDollar, toHex } from './sim/world.ts'

/** A chain on which payers pay at our own checkout, and what reads it. */
export type CheckoutBench = {
  chain: Bench
  checkout: CheckoutDeps
  chargeOf: (created: Record<string, unknown>) => Promise<Charge>
  payInEther: (reference: Hex, value: bigint, payer?: Hex) => Promise<void>
  payInDollars: (reference: Hex, amount: bigint, payer?: Hex) => Promise<void>
  /** One who signs; all others are played by the node, and their hashes prove nothing. */
  signingPayer: () => Hex
  /** Any call of any account's, in a block of its own. */
  pay: (from: Hex, to: Hex, call: { data: Hex; value?: bigint; gas?: Hex }) => Promise<unknown>
  /** Lets what was paid become final, and reads all of it. */
  read: () => Promise<void>
}

const { signal } = new AbortController()

export async function createCheckoutBench(
  options: {
    through?: (db: Db) => Db
    /** The payee is one whom the chain's bench signs for. */
    isOurs?: boolean
  } = {},
): Promise<CheckoutBench> {
  const chain = await createBench()
  const { db, world, signers } = chain
  const minter = signers.addresses[0]!
  const dollar = await placeDollar(world, { minter, allowance: 10n ** 15n })
  const payee = options.isOurs === true ? signers.addresses[1]! : newAddress()
  const checkout = checkoutOf({ chain, payee, dollar, db: options.through?.(db) ?? db })
  const { settlement } = checkout.terms
  // Nothing that is older than the first look counts.
  await checkoutPass({ ...checkout, db }, signal)

  const accounts = new Map<Hex, PrivateKeyAccount>()
  const send = createSend(world, accounts)

  return {
    chain,
    checkout,
    signingPayer() {
      const account = privateKeyToAccount(generatePrivateKey())
      const address = account.address.toLowerCase() as Hex
      accounts.set(address, account)
      return address
    },
    pay: send,
    chargeOf: async (created) => (await findCharge(db, String(created['transaction_id'])))!,
    async payInEther(reference, value, payer = newAddress()) {
      const args = [reference, payee] as const
      const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settle', args })
      await send(payer, settlement, { data, value })
    },
    async payInDollars(reference, amount, payer = newAddress()) {
      const memo: Hex = `0x${randomBytes(32).toString('hex')}`
      const abi = referenceDollarAbi
      const mint = { abi, functionName: 'mintWithMemo', args: [payer, amount, memo] } as const
      await send(minter, dollar, { data: encodeFunctionData(mint) })
      const allow = { abi, functionName: 'approve', args: [settlement, amount] } as const
      await send(payer, dollar, { data: encodeFunctionData(allow) })
      const args = [reference, dollar, payee, amount] as const
      const pay = { abi: settlementAbi, functionName: 'settleToken', args } as const
      await send(payer, settlement, { data: encodeFunctionData(pay) })
    },
    async read() {
      await world.mine(2)
      while (await checkoutPass(checkout, signal)) continue
    },
  }
}

/** As the account itself where it signs, and else as one whom the node plays. */
function createSend(
  world: Bench['world'],
  accounts: ReadonlyMap<Hex, PrivateKeyAccount>,
): CheckoutBench['pay'] {
  return async (from: Hex, to: Hex, call: { data: Hex; value?: bigint; gas?: Hex }) => {
    await world.rpc('anvil_setBalance', [from, toHex(100n * ETHER)])
    const account = accounts.get(from)
    if (account !== undefined) {
      const nonce = Number(await world.rpc('eth_getTransactionCount', [from, 'latest']))
      const gas = { gas: 500_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n }
      const chainId = CHAIN_ID
      const { data, value } = call
      const raw = await account.signTransaction({
        data,
        ...(value && { value }),
        ...gas,
        to,
        nonce,
        chainId,
      })
      await world.rpc('eth_sendRawTransaction', [raw])
      return world.mine(1)
    }
    await world.rpc('anvil_impersonateAccount', [from])
    const value = toHex(call.value ?? 0n)
    await world.rpc('eth_sendTransaction', [
      { from, to, data: call.data, value, gas: call.gas ?? '0x7a120' },
    ])
    await world.mine(1)
  }
}

export function newAddress(): Hex {
  return `0x${randomBytes(20).toString('hex')}`
}

function checkoutOf(deps: { chain: Bench; db: Db; payee: Hex; dollar: Hex }): CheckoutDeps {
  const { chain, db, payee, dollar } = deps
  const providers = createProviders({
    urls: [chain.url],
    chainId: CHAIN_ID,
    clock: systemClock,
    random: Math.random,
  })
  const settlement = settlementAddress.toLowerCase() as Hex
  return {
    db,
    terms: { chainId: CHAIN_ID, settlement, payee, stablecoin: dollar },
    readFinal: createFinal({ providers, finality: 2 }),
    blocks: createSupplyReader({ providers, token: settlement }),
    settlements: createSettlementReader({ providers, settlement, payee }),
    readReceipt: createPaidReceiptReader(providers),
    clock: systemClock,
    logger: createLogger({ level: 'silent' }),
  }
}
