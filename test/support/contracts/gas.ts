import {
  Signature,
  type TransactionResponse,
  Wallet,
  ZeroAddress,
  keccak256,
  toUtf8Bytes,
} from 'ethers'

import type { HardhatEthers, HardhatEthersSigner } from '@nomicfoundation/hardhat-ethers/types'

import {
  type ReferenceDollar,
  ReferenceDollar__factory,
  type Settlement,
  Settlement__factory,
} from '../../../src/bindings/index.ts'
import type { Payments, UsdcShape } from './mocks.ts'
import { denseReferences, fundedStrangers, referenceOf, strangerAt } from './orders.ts'
import { signAuthorization, signIntent, signPermit } from './signing.ts'
import { deployBareUsdc, deployUsdc, usdcDomain } from './usdc.ts'

/** Gas by what was done; whole transactions, or shares of one where the name says "per item". */
export type GasTable = Record<string, number>

type Bench = {
  ethers: HardhatEthers
  payer: HardhatEthersSigner
  payees: string[]
  settlement: Settlement
  mapping: Payments
  event: Payments
  usdc: UsdcShape
  dollar: ReferenceDollar
}

const BATCH = 100
const WEI = 1_000_000_000_000_000n
const UNITS = 25_000_000n
const PLENTY = 1_000_000_000_000n
const GAS_CAP = 16_777_216n
/** A time that no test gets to. */
const FAR = 4_102_444_800n

/** Measures every row on a chain of its own. All addresses are fixed, so that the figures are. */
export async function measureGas(ethers: HardhatEthers): Promise<GasTable> {
  const bench = await createBench(ethers)
  return {
    ...(await measureNative(bench)),
    ...(await measureIntent(bench)),
    ...(await measureBatches(bench)),
    ...(await measureTokens(bench)),
    ...(await measureSigned(bench)),
    ...(await measureMints(bench)),
  }
}

/** The most items that fit below the cap of gas per transaction, up to the contract's own limit. */
export async function measureLargestBatches(ethers: HardhatEthers): Promise<GasTable> {
  const bench = await createBench(ethers)
  const { settlement, usdc } = bench
  const known = await fundedStrangers(ethers, 1000)
  const unknown = known.map((_, i) => strangerAt(5000 + i))
  const dense = denseReferences('largest', { from: 1, count: 1000 })
  const sparse = known.map((_, i) => referenceOf(`sparse ${i}`, 1))
  for (let i = 0; i < 1000; i += 50) {
    const payees = known.slice(i, i + 50)
    const amounts = payees.map(() => 1n)
    const references = denseReferences(`first ${i}`, { from: 0, count: 50 })
    await settlement.settleTokenBatch(references, usdc, payees, amounts)
  }

  const native = (references: string[], payees: string[]) => (size: number) =>
    settlement.settleBatch.staticCall(
      references.slice(0, size),
      payees.slice(0, size),
      payees.slice(0, size).map(() => 1n),
      { value: BigInt(size), gasLimit: GAS_CAP },
    )
  const partial = (references: string[], payees: string[]) => (size: number) =>
    settlement.settleBatchPartial.staticCall(
      references.slice(0, size),
      payees.slice(0, size),
      payees.slice(0, size).map(() => 1n),
      { value: BigInt(size), gasLimit: GAS_CAP },
    )
  const tokens = (references: string[], payees: string[]) => (size: number) =>
    settlement.settleTokenBatch.staticCall(
      references.slice(0, size),
      usdc,
      payees.slice(0, size),
      payees.slice(0, size).map(() => 1n),
      { gasLimit: GAS_CAP },
    )
  return {
    'native batch, dense': await largest(native(dense, known)),
    'native batch, every item a new word and a new account': await largest(native(sparse, unknown)),
    'partial batch, dense': await largest(partial(dense, known)),
    'partial batch, every item a new word and a new account': await largest(
      partial(sparse, unknown),
    ),
    'token batch, dense': await largest(tokens(dense, known)),
    'token batch, every item a new word and a new holder': await largest(tokens(sparse, unknown)),
  }
}

/** What the build has made, not what is committed: the two are compared elsewhere. */
export async function deploySettlement(ethers: HardhatEthers): Promise<Settlement> {
  const [signer] = await ethers.getSigners()
  const deployed = await ethers.deployContract('Settlement')
  return Settlement__factory.connect(await deployed.getAddress(), signer)
}

export async function deployDollar(ethers: HardhatEthers, admin: string): Promise<ReferenceDollar> {
  const [signer] = await ethers.getSigners()
  const deployed = await ethers.deployContract('ReferenceDollar', [admin])
  return ReferenceDollar__factory.connect(await deployed.getAddress(), signer)
}

async function createBench(ethers: HardhatEthers): Promise<Bench> {
  const [payer] = await ethers.getSigners()
  if (payer === undefined) throw new Error('the network has no accounts')
  const settlement = await deploySettlement(ethers)
  const mapping = (await ethers.deployContract('MappingPayments')) as unknown as Payments
  const event = (await ethers.deployContract('EventPayments')) as unknown as Payments
  const dollar = await deployDollar(ethers, payer.address)
  const usdc = await deployUsdc(ethers)

  const payees = await fundedStrangers(ethers, BATCH)
  await fillUsdc(usdc, payer)
  await usdc.approve(settlement, PLENTY)
  await dollar.configureMinter(payer, PLENTY)
  await dollar.mintWithMemo(payer, PLENTY / 2n, referenceOf('mint', 0))
  await dollar.approve(settlement, PLENTY)
  for (const payee of payees) {
    await usdc.transfer(payee, 1n)
    await dollar.transfer(payee, 1n)
  }
  return { ethers, payer, payees, settlement, mapping, event, usdc, dollar }
}

async function fillUsdc(usdc: UsdcShape, owner: HardhatEthersSigner): Promise<void> {
  await usdc.initialize(owner)
  await usdc.configureMinter(owner, PLENTY)
  await usdc.mint(owner, PLENTY / 2n)
}

async function measureNative(bench: Bench): Promise<GasTable> {
  const { payer, settlement, mapping, event } = bench
  const [to] = bench.payees as [string]
  const pay = (counter: number) =>
    settlement.settle(referenceOf('native', counter), to, { value: WEI })
  return {
    'plain transfer': await gasOf(payer.sendTransaction({ to, value: WEI })),
    'event only, not once-only': await gasOf(
      event.pay(referenceOf('event', 1), to, { value: WEI }),
    ),
    'once-only by a mapping': await gasOf(
      mapping.pay(referenceOf('mapping', 1), to, { value: WEI }),
    ),
    'native, first in a word': await gasOf(pay(1)),
    'native, dense reference': await gasOf(pay(2)),
  }
}

async function measureIntent(bench: Bench): Promise<GasTable> {
  const { ethers, settlement } = bench
  const operator = new Wallet(keccak256(toUtf8Bytes('operator')))
  const { chainId } = await ethers.provider.getNetwork()
  const domain = { chainId, verifyingContract: await settlement.getAddress() }
  const pay = async (counter: number) => {
    const intent = {
      orderReference: referenceOf('intent', counter),
      operator: operator.address,
      payee: bench.payees[0] as string,
      token: ZeroAddress,
      amount: WEI,
      deadline: FAR,
    }
    const signature = await signIntent(operator, domain, intent)
    return gasOf(settlement.settleWithIntent(intent, signature, { value: WEI }))
  }
  await pay(1)
  return { 'native by signed intent, dense': await pay(2) }
}

async function measureBatches(bench: Bench): Promise<GasTable> {
  const { ethers, settlement } = bench
  const amounts = bench.payees.map(() => WEI)
  const value = WEI * BigInt(BATCH)
  const references = (block: string) => denseReferences(block, { from: 1, count: BATCH })
  for (const block of ['batch', 'partial', 'bad']) {
    const [first] = denseReferences(block, { from: 0, count: 1 }) as [string]
    await settlement.settle(first, bench.payees[0] as string, { value: WEI })
  }

  const batch = await gasOf(
    settlement.settleBatch(references('batch'), bench.payees, amounts, { value }),
  )
  const partial = await gasOf(
    settlement.settleBatchPartial(references('partial'), bench.payees, amounts, { value }),
  )
  const burner = await ethers.deployContract('GasBurningReceiver')
  const payees = [...bench.payees.slice(1), await burner.getAddress()]
  const bad = await gasOf(
    settlement.settleBatchPartial(references('bad'), payees, amounts, { value }),
  )
  return {
    'native batch of 100, per item, dense': batch / BATCH,
    'partial batch of 100, per item, dense': partial / BATCH,
    'partial batch of 100, what a bad recipient adds': bad - partial,
  }
}

async function measureTokens(bench: Bench): Promise<GasTable> {
  const { settlement, payees } = bench
  const rows: GasTable = {}
  for (const [name, token] of [
    ['USDC shape', bench.usdc],
    ['ReferenceDollar', bench.dollar],
  ] as const) {
    const [to] = payees as [string]
    const pay = (counter: number) =>
      settlement.settleToken(referenceOf(name, counter), token, to, UNITS)
    rows[`token (${name}), plain transfer`] = await gasOf(token.transfer(to, UNITS))
    rows[`token (${name}), plain transfer to a new holder`] = await gasOf(
      token.transfer(strangerAt(7000), UNITS),
    )
    rows[`token (${name}), first in a word`] = await gasOf(pay(1))
    rows[`token (${name}), dense`] = await gasOf(pay(2))
    const [first, ...references] = denseReferences(name, { from: 0, count: BATCH + 1 })
    await settlement.settleToken(first as string, token, to, UNITS)
    const amounts = payees.map(() => UNITS)
    const batch = await gasOf(settlement.settleTokenBatch(references, token, payees, amounts))
    rows[`token batch of 100 (${name}), per item, dense`] = batch / BATCH
  }
  return rows
}

/** By a holder who has paid by signature before; somebody else submits the authorization. */
async function measureSigned(bench: Bench): Promise<GasTable> {
  const { ethers, settlement, usdc } = bench
  const holder = new Wallet(keccak256(toUtf8Bytes('holder')), ethers.provider)
  await ethers.provider.send('hardhat_setBalance', [holder.address, '0xde0b6b3a7640000'])
  await usdc.transfer(holder, 10n * UNITS)
  const domain = await usdcDomain(ethers, usdc)
  const [payee] = bench.payees as [string]
  const spender = await settlement.getAddress()

  const byPermit = async (counter: number) => {
    const deadline = FAR
    const nonce = await usdc.nonces(holder)
    const permit = { owner: holder.address, spender, value: UNITS, nonce, deadline }
    const { v, r, s } = Signature.from(await signPermit(holder, domain, permit))
    const reference = referenceOf('signed', counter)
    const paying = settlement.connect(holder)
    return gasOf(paying.settleWithPermit(reference, usdc, payee, UNITS, { deadline, v, r, s }))
  }
  const byAuthorization = async (counter: number) => {
    const reference = referenceOf('signed', counter)
    const nonce = await settlement.authorizationNonce(reference, usdc, payee)
    const [validAfter, validBefore] = [0n, FAR]
    const terms = {
      from: holder.address,
      to: spender,
      value: UNITS,
      validAfter,
      validBefore,
      nonce,
    }
    const signature = await signAuthorization(holder, domain, {
      kind: 'Receive',
      authorization: terms,
    })
    return gasOf(
      settlement.settleWithAuthorization(
        reference,
        usdc,
        payee,
        UNITS,
        holder,
        validAfter,
        validBefore,
        signature,
      ),
    )
  }
  await byPermit(1)
  return {
    'settleWithPermit (USDC shape), dense': await byPermit(2),
    'settleWithAuthorization (USDC shape), dense': await byAuthorization(3),
  }
}

async function measureMints(bench: Bench): Promise<GasTable> {
  const { ethers, payer, dollar, usdc } = bench
  const [to] = bench.payees as [string]
  const bare = await deployBareUsdc(ethers)
  await fillUsdc(bare, payer)
  await bare.transfer(to, 1n)
  return {
    'mint (USDC shape), without a memo': await gasOf(usdc.mint(to, UNITS)),
    'mint (USDC shape), without a memo or a proxy': await gasOf(bare.mint(to, UNITS)),
    'mintWithMemo, existing holder, dense': await gasOf(
      dollar.mintWithMemo(to, UNITS, referenceOf('mint', 1)),
    ),
    'mintWithMemo, existing holder, first in a word': await gasOf(
      dollar.mintWithMemo(to, UNITS, referenceOf('another', 1)),
    ),
    'burnWithMemo, first in a word': await gasOf(dollar.burnWithMemo(UNITS, referenceOf('b', 1))),
    'burnWithMemo, dense': await gasOf(dollar.burnWithMemo(UNITS, referenceOf('b', 2))),
    'transferWithMemo, dense': await gasOf(dollar.transferWithMemo(to, UNITS, referenceOf('b', 3))),
  }
}

async function gasOf(sent: Promise<TransactionResponse>): Promise<number> {
  const receipt = await (await sent).wait()
  if (receipt === null || receipt.status !== 1) throw new Error('the transaction failed')
  return Number(receipt.gasUsed)
}

async function largest(attempt: (size: number) => Promise<unknown>): Promise<number> {
  const fits = (size: number) =>
    attempt(size).then(
      () => true,
      () => false,
    )
  let [low, high] = [1, 1000]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (await fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}
