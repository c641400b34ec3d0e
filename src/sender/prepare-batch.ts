import type { Quorum } from '../chain/quorum.ts'
import { ROUTES_IN, type BundleRoute, type Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import type { SenderContext } from './context.ts'
import { askGas, FIRST_IN_WORD_GAS } from './estimate.ts'
import {
  checkAmount,
  checkPayee,
  contractsOf,
  counterOf,
  prepareAllowance,
  readPayer,
  requireFunds,
  simulateNext,
  type BundledPayment,
  type PaymentRequest,
  type PreparedOrder,
} from './prepare.ts'
import { badPayee, OrderRefusedError, refused } from './refused.ts'
import { bundleCalldata, tokenCall } from './sign.ts'

export type BatchRequest = Pick<PaymentRequest, 'subject' | 'spender'> & {
  payer: Hex
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
  const { subject, spender, payer: signer, route } = request
  const payments = checkPayments(context, request)
  const { contract, token } = await contractsOf(context, route)
  if (contract === undefined) throw refused('contract_not_configured', 'A bundle has a contract.')
  const amount = sumOf(payments)
  const standing = await readPayer(context, { signer, token })
  requireFunds(standing, { signer, route, token, amount })
  const counter = await counterOf(context, db, signer)
  const read = (): Promise<bigint> => counterOf(context, db, signer)
  const simulate = (counter: bigint): Promise<Bundle[]> =>
    splitUp(context, { signer, route, contract, token, counter }, payments)
  const bundles = await simulate(counter).catch((error) =>
    simulateNext(error, { counter, read, simulate }),
  )
  const paying = { subject, spender, route, payer: signer, payee: contract, amount }
  const before = token === undefined ? [] : [await prepareAllowance(context, db, paying)]
  const common = { spender, signer, contract, token, route, payee: contract, ...standing }
  const orders = bundles.map(({ bundled, gas }, place): PreparedOrder => {
    const named = { subject: `${subject}-${place + 1}`, reference: undefined, before: [] }
    return { ...common, ...named, amount: sumOf(bundled), bundled, gas }
  })
  const last = orders.pop()!
  return { ...last, before: [...before, ...orders] }
}

type Bundle = { bundled: readonly BundledPayment[]; gas: bigint }

/** All that is wrong with them is told at once, each by its place. */
function checkPayments(context: SenderContext, request: BatchRequest): BundledPayment[] {
  const { payer, payments } = request
  const route = ROUTES_IN[request.route]
  const problems: PlacedProblem[] = []
  const checked = payments.map((payment, place): BundledPayment => {
    try {
      checkAmount(context, { ...payment, route })
      const payee = checkPayee(context, { ...payment, route })
      if (payee === payer) throw badPayee('payee_is_payer', payee)
      return { ...payment, payee }
    } catch (error) {
      problems.push(placed(error, place))
      return payment
    }
  })
  if (problems.length > 0) throw batchRefused(problems)
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
  const { route, token, counter } = split
  if (token !== undefined) {
    const gas = await gasOfTokens(context, { ...split, token }, payments)
    return [{ bundled: payments, gas: withinLimit(context, gas, payments.length) }]
  }
  if (route !== 'open_bundle') {
    const gas = await gasOfEther(context, split, payments)
    return [{ bundled: payments, gas: withinLimit(context, gas, payments.length) }]
  }
  const parts: BundledPayment[][] = []
  for (let at = 0; at < payments.length; at += OPEN_AT_ONCE) {
    parts.push(payments.slice(at, at + OPEN_AT_ONCE))
  }
  const bundles = parts.map((part, place) => {
    const before = BigInt(place * (OPEN_AT_ONCE + 1))
    return halved(context, { ...split, counter: counter + before }, part)
  })
  return (await Promise.all(bundles)).flat()
}

/** So few that a payee who wastes all the gas that it gets stops nobody else. */
const OPEN_AT_ONCE = 250

async function halved(
  context: SenderContext & { quorum: Quorum },
  split: Split,
  payments: readonly BundledPayment[],
): Promise<Bundle[]> {
  const gas = await gasOfEther(context, split, payments)
  if (gas <= context.policy.maxBundleGas || payments.length === 1) {
    return [{ bundled: payments, gas: withinLimit(context, gas, payments.length) }]
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
  const call = { to: contract, value: sumOf(payments), data }
  const asked = await askGas(quorum, { signer, call })
  const gas = (asked * 11n) / 10n + FIRST_IN_WORD_GAS
  if (route !== 'open_bundle') return gas
  // What fails in the simulation costs less than what is paid by the time it is mined.
  const least = ITEM_RESERVE + BigInt(payments.length) * PAID_ITEM_GAS
  return gas > least ? gas : least
}

/** What the contract wants to be left when it tries an item. */
const ITEM_RESERVE = 350_000n
const PAID_ITEM_GAS = 16_000n

/**
 * The allowance is not on the chain yet, so the token is asked for each transfer by itself. What is
 * touched for the first time in each of them is so only once in a bundle, which more than makes up
 * for what the contract adds.
 */
async function gasOfTokens(
  { quorum }: { quorum: Quorum },
  { signer, token }: { signer: Hex; token: Hex },
  payments: readonly BundledPayment[],
): Promise<bigint> {
  const problems: PlacedProblem[] = []
  const asked = await Promise.all(
    payments.map(async ({ payee, amount }, place) => {
      const data = tokenCall('transfer', payee, amount)
      try {
        return await askGas(quorum, { signer, call: { to: token, value: 0n, data } })
      } catch (error) {
        problems.push(placed(error, place))
        return 0n
      }
    }),
  )
  if (problems.length > 0) throw batchRefused(problems)
  return asked.reduce((sum, gas) => sum + gas - TRANSACTION_GAS, BUNDLE_GAS)
}

const TRANSACTION_GAS = 21_000n
const BUNDLE_GAS = 150_000n

function withinLimit({ policy }: SenderContext, gas: bigint, count: number): bigint {
  if (gas <= policy.maxBundleGas) return gas
  throw refused(
    'batch_too_large',
    `To pay all ${count} or none takes ${gas} gas, but one transaction may take at most ${policy.maxBundleGas}. Pay fewer at once, or each by itself.`,
  )
}

/** What is wrong with the payment at this place of a batch. */
export type PlacedProblem = { place: number; code: string; message: string }

/** What is no refusal concerns all of them. */
function placed(error: unknown, place: number): PlacedProblem {
  if (!(error instanceof OrderRefusedError) || error.retryable) throw error
  return { place, code: error.code, message: error.message }
}

function batchRefused(problems: readonly PlacedProblem[]): BatchRefusedError {
  const [first] = problems
  return new BatchRefusedError(
    `${problems.length} of the payments cannot be made, the first at place ${first!.place}: ${first!.message}`,
    problems,
  )
}

export class BatchRefusedError extends OrderRefusedError {
  readonly problems: readonly PlacedProblem[]

  constructor(message: string, problems: readonly PlacedProblem[]) {
    super(message, { code: 'batch_refused' })
    this.problems = problems
  }
}

function sumOf(payments: readonly BundledPayment[]): bigint {
  return payments.reduce((sum, { amount }) => sum + amount, 0n)
}
