import { ImpossibleError } from '../base/errors.ts'
import { groupsOf } from '../base/groups.ts'
import { data as bytes } from '../chain/answers.ts'
import type { Quorum } from '../chain/quorum.ts'
import { BatchRefusedError, type PlacedProblem } from '../domain/batches.ts'
import { isOpen, ROUTES_IN, type BundleRoute, type Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import type { SenderContext } from './context.ts'
import { counterOf, readCounter, simulateNext } from './counters.ts'
import { askGas, firstAnswer, FIRST_IN_WORD_GAS, mostRollupFee } from './estimate.ts'
import { isOfFrozen, payerFrozen } from './signers/frozen-payer.ts'
import {
  checkAmount,
  checkPayee,
  contractsOf,
  prepareAllowance,
  readPayer,
  requireFunds,
  type BundledPayment,
  type PaymentRequest,
  type PreparedOrder,
} from './prepare.ts'
import { badPayee, isRefusal, refused } from './refused.ts'
import { bundleCalldata, tokenCall } from './sign.ts'
import { readLimitsOf, spentAs } from './spending.ts'

export type BatchRequest = Pick<PaymentRequest, 'subject' | 'spender' | 'way'> & {
  payer: Hex
  token?: Hex | undefined
  /** A bundle pays all or none of its payments, an open one those that can be paid. */
  route: BundleRoute
  payments: readonly BundledPayment[]
}

/**
 * Refuses what can be known at once to be impossible, and makes as few transactions of the payments
 * as the gas of one allows. They are accepted together; what is returned is the last of them.
 */
export async function prepareBatch(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  request: BatchRequest,
): Promise<PreparedOrder> {
  const { subject, spender, way, payer: signer, route } = request
  const payments = await checkPayments(context, db, request)
  const { contract, token } = await contractsOf(context, request)
  if (contract === undefined) throw new ImpossibleError('a bundle calls the settlement contract')
  const amount = amountOf(payments)
  const standing = await readPayer(context, { signer, token })
  requireFunds(standing, { signer, route, token, amount })
  const counter = await counterOf(context, db, signer)
  const read = (): Promise<bigint> => readCounter(context, db, signer)
  const simulate = (counter: bigint): Promise<Bundle[]> =>
    splitUp(context, { signer, route, contract, token, counter }, payments)
  const bundles = await simulate(counter).catch((error) =>
    simulateNext(error, { counter, read, simulate }),
  )
  const asked = { subject, spender, way, route, token }
  const paying = { ...asked, payer: signer, payee: contract, amount }
  const before = token === undefined ? [] : [await prepareAllowance(context, db, paying)]
  const common = { spender, way, signer, contract, token, route, payee: contract, ...standing }
  const charged = await Promise.all(
    bundles.map(async (bundle) => {
      return { ...bundle, rollupFee: await mostRollupFee(context, { ...bundle, route }) }
    }),
  )
  const orders = charged.map((bundle, place): PreparedOrder => {
    const named = { subject: `${subject}-${place + 1}`, reference: undefined, before: [] }
    return { ...common, ...named, ...bundle, amount: amountOf(bundle.bundled) }
  })
  if (token !== undefined && isOpen(route)) {
    // What payments that fail have left of the allowance is taken back.
    const none = { ...paying, subject: `${subject}-rest`, amount: 0n }
    orders.push(await prepareAllowance(context, db, none))
  }
  const last = orders.pop()!
  return { ...last, before: [...before, ...orders] }
}

/** What a batch would take, at the price that would be offered now. */
export type BatchCost = {
  /** On the chain. */
  transactions: number
  /** At most; what is not used is not paid. */
  gas: bigint
  feeWei: bigint
  /** The places of payees that have code, which may do anything with what they get. */
  contracts: number[]
}

export async function estimateBatch(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  request: BatchRequest,
): Promise<BatchCost> {
  const last = await prepareBatch(context, db, request)
  const orders = [...last.before, last]
  const payees = orders.flatMap(({ bundled }) => bundled.map(({ payee }) => payee))
  const codes = await codesOf(context.quorum, [...new Set(payees)])
  return {
    transactions: orders.length,
    gas: sumOf(orders.map(({ gas }) => gas)),
    feeWei: sumOf(orders.map(({ gas, fees, rollupFee }) => gas * fees.maxFeePerGas + rollupFee)),
    contracts: payees.flatMap((payee, place) => (codes.get(payee) === '0x' ? [] : place)),
  }
}

async function codesOf(quorum: Quorum, addresses: readonly Hex[]): Promise<Map<Hex, Hex>> {
  const read = async (address: Hex): Promise<[Hex, Hex]> => {
    const params = [address, 'latest']
    const code = await firstAnswer(quorum, async (provider, signal) =>
      bytes(await provider.request({ method: 'eth_getCode', params, signal }), 'code'),
    )
    return [address, code]
  }
  return new Map(await Promise.all(addresses.map(read)))
}

type Bundle = { bundled: readonly BundledPayment[]; gas: bigint }

/** Reports all problems of the payments at once, each with its place. */
async function checkPayments(
  context: SenderContext,
  db: Db,
  request: BatchRequest,
): Promise<BundledPayment[]> {
  const { payer, payments, spender, way, token } = request
  const route = ROUTES_IN[request.route]
  const common = { spender, way, route, token }
  const limits = await readLimitsOf(context, db, { ...common, payee: payer, amount: 0n })
  const problems: PlacedProblem[] = []
  const checked = payments.map((payment, place): BundledPayment => {
    try {
      checkAmount({ ...payment, route })
      limits.check(spentAs(context, { ...payment, ...common }))
      const payee = checkPayee(context, { ...payment, route })
      if (payee === payer) throw badPayee('payee_is_payer', payee)
      return { ...payment, payee }
    } catch (error) {
      problems.push(placed(error, place))
      return payment
    }
  })
  refuseThose(problems)
  return checked
}

type Split = {
  signer: Hex
  route: BundleRoute
  contract: Hex
  token: Hex | undefined
  /** Of the first transaction. */
  counter: bigint
}

async function splitUp(
  context: SenderContext & { quorum: Quorum },
  split: Split,
  payments: readonly BundledPayment[],
): Promise<Bundle[]> {
  const { route, token } = split
  if (token !== undefined) {
    const costs = await costsOfTokens(context, { ...split, token }, payments)
    if (isOpen(route)) return inParts(context, payments, costs)
    return [whole(context, payments, sumOf(costs) + TOKEN_BUNDLE_GAS)]
  }
  if (!isOpen(route)) {
    return [whole(context, payments, await gasOfEther(context, split, payments))]
  }
  const bundles = groupsOf(payments, OPEN_AT_ONCE).map((part, place) => {
    const before = BigInt(place * (OPEN_AT_ONCE + 1))
    return halved(context, { ...split, counter: split.counter + before }, part)
  })
  return (await Promise.all(bundles)).flat()
}

/** So few that a payee who wastes all the gas that it gets stops nobody else. */
const OPEN_AT_ONCE = 250

/** As many in each as there is gas for. */
function inParts(
  { policy }: SenderContext,
  payments: readonly BundledPayment[],
  costs: readonly bigint[],
): Bundle[] {
  const bundles: { bundled: BundledPayment[]; gas: bigint }[] = []
  for (const [place, payment] of payments.entries()) {
    const cost = costs[place]!
    const last = bundles.at(-1)
    const isFull = last === undefined || last.bundled.length >= OPEN_AT_ONCE
    if (isFull || last.gas + cost > policy.maxBundleGas) {
      bundles.push({ bundled: [payment], gas: ITEM_RESERVE + TOKEN_BUNDLE_GAS + cost })
    } else {
      last.bundled.push(payment)
      last.gas += cost
    }
  }
  return bundles
}

async function halved(
  context: SenderContext & { quorum: Quorum },
  split: Split,
  payments: readonly BundledPayment[],
): Promise<Bundle[]> {
  const gas = await gasOfEther(context, split, payments)
  if (gas <= context.policy.maxBundleGas || payments.length === 1) {
    return [whole(context, payments, gas)]
  }
  const middle = Math.ceil(payments.length / 2)
  const behind = { ...split, counter: split.counter + 1n + BigInt(middle) }
  return [
    ...(await halved(context, split, payments.slice(0, middle))),
    ...(await halved(context, behind, payments.slice(middle))),
  ]
}

/** With what it takes to begin another word of the contract's bitmap than the simulated one. */
async function gasOfEther(
  { quorum, references }: SenderContext & { quorum: Quorum },
  { signer, route, contract, token, counter }: Split,
  payments: readonly BundledPayment[],
): Promise<bigint> {
  const numbered = payments.map((payment, place) => {
    const reference = references.encode({ payer: signer, counter: counter + 1n + BigInt(place) })
    return { ...payment, reference }
  })
  const data = bundleCalldata({ route, token }, numbered)
  const call = { to: contract, value: amountOf(payments), data }
  const asked = await askGas(quorum, { signer, call })
  const gas = (asked * 11n) / 10n + FIRST_IN_WORD_GAS
  if (!isOpen(route)) return gas
  // What fails in the simulation costs less than what is paid by the time it is mined.
  const least = ITEM_RESERVE + BigInt(payments.length) * PAID_ITEM_GAS
  return gas > least ? gas : least
}

/** The gas that the contract requires to be left when it tries an item. */
const ITEM_RESERVE = 325_000n
const PAID_ITEM_GAS = 15_000n

/**
 * What each takes in a bundle. The allowance is not on the chain yet, so the token is asked for the
 * same transfers. Each of them touches for the first time what a bundle touches once, which covers
 * most of what the contract adds to it.
 */
async function costsOfTokens(
  { quorum }: { quorum: Quorum },
  { signer, route, token }: { signer: Hex; route: BundleRoute; token: Hex },
  payments: readonly BundledPayment[],
): Promise<bigint[]> {
  const problems: PlacedProblem[] = []
  const errors: unknown[] = []
  const asked = await Promise.all(
    payments.map(async ({ payee, amount }, place) => {
      const data = tokenCall('transfer', payee, amount)
      try {
        return await askGas(quorum, { signer, call: { to: token, value: 0n, data } })
      } catch (error) {
        errors.push(error)
        problems.push(placed(error, place))
        return REFUSED_TRANSFER_GAS
      }
    }),
  )
  const error = errors.find(isOfFrozen)
  const refusal = error && (await payerFrozen(quorum, { error, token, payer: signer }))
  if (refusal) throw refusal
  if (!isOpen(route)) refuseThose(problems)
  return asked.map((gas) => gas - TRANSACTION_GAS + TOKEN_ITEM_GAS)
}

const TRANSACTION_GAS = 21_000n
/** What a bundle takes besides its items: it may begin two words of the contract's bitmap. */
const TOKEN_BUNDLE_GAS = 100_000n
const TOKEN_ITEM_GAS = 1_500n
/** By the time it is mined, the token may let it pass. */
const REFUSED_TRANSFER_GAS = 90_000n

function whole({ policy }: SenderContext, bundled: readonly BundledPayment[], gas: bigint): Bundle {
  if (gas <= policy.maxBundleGas) return { bundled, gas }
  throw refused(
    'batch_too_large',
    `To pay all ${bundled.length} or none takes ${gas} gas, but one transaction can use at most ${policy.maxBundleGas}. Pay fewer at once, or each by itself.`,
  )
}

/** Throws an error that concerns all payments: it is not a refusal, or may be retried. */
function placed(error: unknown, place: number): PlacedProblem {
  if (!isRefusal(error) || error.retryable) throw error
  return { place, code: error.code, message: error.message }
}

function refuseThose(problems: readonly PlacedProblem[]): void {
  const [first, ...others] = problems.toSorted((a, b) => a.place - b.place)
  if (first !== undefined) throw new BatchRefusedError([first, ...others])
}

function amountOf(payments: readonly BundledPayment[]): bigint {
  return sumOf(payments.map(({ amount }) => amount))
}

function sumOf(numbers: readonly bigint[]): bigint {
  return numbers.reduce((sum, one) => sum + one, 0n)
}
