import { ImpossibleError } from '../base/errors.ts'
import { data as bytes, quantity, word } from '../chain/answers.ts'
import { parseAddress } from '../chain/hex.ts'
import type { Quorum } from '../chain/quorum.ts'
import { holdingCall } from '../chain/read/token.ts'
import { NOBODY, weiOf, type Fees, type Hex, type Order, type Route } from '../domain/orders.ts'
import type { Reference } from '../domain/reference.ts'
import type { WayOut } from '../domain/spending.ts'
import type { Db } from '../store/database/database.ts'
import { idlestSigner } from '../store/orders/lanes.ts'
import { nonceOnChain } from './chain-view.ts'
import type { SenderContext } from './context.ts'
import { counterOf, readCounter, simulateNext } from './counters.ts'
import { estimateGas, firstAnswer, mostRollupFee } from './estimate.ts'
import { offerOf } from './fees.ts'
import { payerFrozen } from './signers/frozen-payer.ts'
import { preparePermit, type PaymentPermit } from './permits.ts'
import { badPayee, insufficientFunds, isRefusal, refused, tooMuchGas } from './refused.ts'
import { paymentCall, plainMintCalldata, tokenCall } from './sign.ts'
import { mintRefused } from './signers/mint-right.ts'
import { readLimitsOf, spentAs } from './spending.ts'

export type PaymentRequest = {
  /** What is paid; a second request for it gets the first one's order. */
  subject: string
  /** Whose limits it counts against. */
  spender: string
  way: WayOut
  route: Route
  /** The address that pays; undefined lets the least busy signer of the pool pay. */
  payer: Hex | undefined
  payee: Hex
  amount: bigint
  /** What is paid where the route is a token's; absent: the dollar. */
  token?: Hex | undefined
  /** Its reference on the chain; absent: the next one of the payer. */
  reference?: Reference | undefined
  /** A permit, or an order just before, lets the settlement contract take its tokens. */
  withAllowance?: true | undefined
}

/** One of those that a bundle pays. */
export type BundledPayment = Pick<PaymentRequest, 'subject' | 'payee' | 'amount'>

/** What the chain was asked before the lane is locked, so that no lock waits for a provider. */
export type PreparedOrder = Omit<PaymentRequest, 'payer' | 'withAllowance'> & {
  signer: Hex
  contract: Hex | undefined
  token: Hex | undefined
  gas: bigint
  fees: Fees
  balance: bigint
  /** What the signer holds of the token. */
  tokens: bigint
  /** In wei, what a rollup may charge on top of the gas. */
  rollupFee: bigint
  /** What it pays where it is a bundle; else none. */
  bundled: readonly BundledPayment[]
  /** What lets its tokens be taken, where its route is that of a permit. */
  permit?: PaymentPermit
  /** What the token is called with, of a mint without a memo. */
  calldata?: Hex | undefined
  /** Accepted with it, at the nonces before: all or none. */
  before: readonly PreparedOrder[]
  /** Undefined while the providers do not agree on it; the lane then knows. */
  chainNonce: bigint | undefined
}

/** Refuses what can be known at once to be impossible, and asks the chain what a payment takes. */
export async function prepareOrder(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  request: PaymentRequest,
): Promise<PreparedOrder> {
  try {
    return await prepareNow(context, db, request)
  } catch (error) {
    // The limits apply at acceptance. A limit that is reached is reported before any other refusal.
    if (isRefusal(error) && request.route !== 'allowance') {
      const limits = await readLimitsOf(context, db, request)
      limits.check(spentAs(context, request))
    }
    throw error
  }
}

async function prepareNow(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  request: PaymentRequest,
): Promise<PreparedOrder> {
  const { quorum, policy } = context
  checkAmount(request)
  const payee = checkPayee(context, request)
  const placing = placeOf(context, db, { ...request, payee })
  // A problem of the contracts is reported first.
  placing.catch(() => undefined)
  const { contract, token } = await contractsOf(context, request)
  const { signer, counter } = await placing
  const { subject, spender, way, route, amount } = request
  const isPlain = route === 'mint' && context.mintsPlainly === true
  const calldata = isPlain ? plainMintCalldata({ payee, amount }) : undefined
  const simulate = (counter: bigint): Promise<bigint> => {
    const reference = request.reference ?? context.references.encode({ payer: signer, counter })
    const call = { signer, route, contract, token, reference, payee, amount }
    return gasOf(quorum, { ...call, calldata })
  }
  const estimating = simulate(counter)
  // It is awaited last, so that a lack of funds is reported as such.
  estimating.catch(() => undefined)
  const standing = await readPayer(context, { signer, token })
  requireFunds(standing, { signer, route, token, amount })
  const wanted = { subject, spender, way, route, payee, amount, reference: request.reference }
  const called = { signer, contract, token, bundled: [] }
  if (request.withAllowance && contract !== undefined && token !== undefined) {
    const reference = request.reference ?? context.references.encode({ payer: signer, counter })
    const payment = { signer, contract, token, payee, amount, reference }
    const permitted = await preparePermit(context, db, payment)
    if (permitted !== undefined && permitted.gas <= policy.maxGas) {
      const { gas } = permitted
      const rollupFee = await mostRollupFee(context, { route: 'permit', bundled: [], gas })
      requireFunds(standing, { signer, route, token, amount, gas, rollupFee })
      const charged = { ...standing, ...permitted, rollupFee }
      return { ...wanted, ...called, ...charged, route: 'permit', before: [] }
    }
  }
  const read = (): Promise<bigint> => readCounter(context, db, signer)
  const gas = await estimating
    .catch((error) => {
      if (!isNumbered(request)) throw error
      return simulateNext(error, { counter, read, simulate })
    })
    .catch(async (error) => {
      throw (
        (await mintRefused(quorum, { route, token: contract, minter: signer, amount })) ??
        (await payerFrozen(quorum, { error, token: token ?? contract, payer: signer })) ??
        error
      )
    })
  if (gas > policy.maxGas) throw tooMuchGas(gas, policy.maxGas)
  const rollupFee = await mostRollupFee(context, { route, bundled: [], gas })
  requireFunds(standing, { signer, route, token, amount, gas, rollupFee })
  const before = request.withAllowance ? [await prepareAllowance(context, db, request)] : []
  return { ...wanted, ...called, calldata, gas, rollupFee, ...standing, before }
}

/** Who pays, and the counter that is simulated. */
async function placeOf(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  request: PaymentRequest,
): Promise<{ signer: Hex; counter: bigint }> {
  const signer = await payerOf(context, db, request)
  if (request.payee === signer) throw badPayee('payee_is_payer', request.payee)
  return { signer, counter: await counterOf(context, db, signer) }
}

/** What the payer can pay with, and at which nonce and price. */
type PayerStanding = Pick<PreparedOrder, 'chainNonce' | 'fees' | 'balance' | 'tokens'>

export async function readPayer(
  context: SenderContext & { quorum: Quorum },
  { signer, token }: { signer: Hex; token: Hex | undefined },
): Promise<PayerStanding> {
  const { quorum, policy } = context
  const [chainNonce, quote, balance, tokens] = await Promise.all([
    nonceOnChain(quorum, { signer, at: 'latest' }),
    context.quoteFees(quorum.signal),
    balanceOf(quorum, signer),
    token === undefined ? 0n : tokensOf(quorum, { token, holder: signer }),
  ])
  return { chainNonce, fees: offerOf(quote, policy.maxFeePerGas), balance, tokens }
}

export function requireFunds(
  { balance, fees, tokens }: PayerStanding,
  payment: Pick<PreparedOrder, 'signer' | 'route' | 'token' | 'amount'> & {
    gas?: bigint
    rollupFee?: bigint
  },
): void {
  const { signer, token, amount, gas = 0n, rollupFee = 0n } = payment
  const charged = gas * fees.maxFeePerGas + rollupFee
  if (balance < weiOf(payment) + charged) throw insufficientFunds(signer)
  if (token !== undefined && tokens < amount) throw insufficientFunds(signer)
}

export async function prepareAllowance(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  payment: PaymentRequest,
): Promise<PreparedOrder> {
  const payee = await checkSettlement(context)
  const route = 'allowance'
  const allowing = { route, payee, reference: undefined, withAllowance: undefined } as const
  const subject = `${payment.subject}-allowance`
  return prepareOrder(context, db, { ...payment, ...allowing, subject })
}

/** Whether what is simulated carries a reference that depends on the counter. */
function isNumbered({ route, reference }: PaymentRequest): boolean {
  return reference === undefined && (route === 'contract' || route === 'mint')
}

/** Of the payment itself, or of what shows that it will succeed. */
async function gasOf(
  quorum: Quorum,
  payment: Pick<
    Order,
    'signer' | 'route' | 'contract' | 'token' | 'reference' | 'payee' | 'amount' | 'calldata'
  >,
): Promise<bigint> {
  const { signer, route, token, payee, amount } = payment
  if (route !== 'token' || token === undefined) {
    return estimateGas(quorum, { signer, call: paymentCall(payment) })
  }
  // The allowance before it is not on the chain yet, so the token is asked for the same transfer.
  const data = tokenCall('transfer', payee, amount)
  const moving = await estimateGas(quorum, { signer, call: { to: token, value: 0n, data } })
  return moving + SETTLING_GAS
}

/** What the settlement contract adds to a transfer at most; what is not used is not paid. */
const SETTLING_GAS = 150_000n

function tokensOf(quorum: Quorum, { token, holder }: { token: Hex; holder: Hex }): Promise<bigint> {
  const params = [{ to: token, data: holdingCall(holder) }, 'latest']
  return firstAnswer(quorum, async (provider, signal) =>
    word(await provider.request({ method: 'eth_call', params, signal }), 'balance'),
  )
}

/** The limits are checked where it is accepted. */
export function checkAmount({ amount, route }: Pick<PaymentRequest, 'amount' | 'route'>): void {
  // An allowance of nothing takes back what is left of one.
  if (amount > 0n || route === 'allowance') return
  throw refused('amount_not_positive', 'The amount is 0. Send more than 0.')
}

export function checkPayee(
  context: SenderContext,
  { payee, route }: Pick<PaymentRequest, 'payee' | 'route'>,
): Hex {
  if (route === 'burn') return NOBODY
  const plain = parseAddress(payee)
  if (plain === undefined) throw badPayee('payee_invalid', payee)
  if (BigInt(plain) === 0n) throw badPayee('payee_is_zero', payee)
  const isSettlement = plain === context.settlement?.address
  const isContract = isSettlement || plain === context.stablecoin || isToken(context, plain)
  // Tokens are let to the settlement contract and to nobody else, and nothing is paid to it.
  if (route === 'allowance' ? !isSettlement : isContract) throw badPayee('payee_is_contract', payee)
  return plain
}

type Contracts = { contract: Hex | undefined; token: Hex | undefined }

/** The one that is called, and the token that it is to move. */
export async function contractsOf(
  context: SenderContext & { quorum: Quorum },
  { route, token }: Pick<PaymentRequest, 'route' | 'token'>,
): Promise<Contracts> {
  switch (route) {
    case 'direct':
      return { contract: undefined, token: undefined }
    case 'contract':
    case 'bundle':
    case 'open_bundle':
      return { contract: await checkSettlement(context), token: undefined }
    case 'token':
    case 'permit':
    case 'token_bundle':
    case 'open_token_bundle':
      return { contract: await checkSettlement(context), token: checkToken(context, token) }
    case 'burn':
    case 'transfer': {
      const moved = checkToken(context, token)
      return { contract: moved, token: moved }
    }
    case 'allowance':
      await checkSettlement(context)
      return { contract: checkToken(context, token), token: undefined }
    case 'mint':
      return { contract: checkToken(context, undefined), token: undefined }
    default:
      return route satisfies never
  }
}

function isToken({ tokens }: SenderContext, address: Hex): boolean {
  return tokens.some((token) => token.address === address)
}

/** Whether the minter may mint is asked of the chain by the simulation. */
function checkToken(context: SenderContext, token = context.stablecoin): Hex {
  if (token !== undefined && (token === context.stablecoin || isToken(context, token))) return token
  if (token !== undefined) throw new ImpossibleError('only what is configured is paid in')
  throw refused(
    'stablecoin_not_configured',
    'No stablecoin is configured on this chain. Set STABLECOIN_ADDRESS, or deploy it.',
  )
}

/** Other code at the contract's address could do anything with the money. */
async function checkSettlement({ settlement, quorum }: SenderContext & { quorum: Quorum }) {
  if (settlement === undefined) {
    throw refused(
      'contract_not_configured',
      'No settlement contract is configured on this chain. Pay without it, or deploy it.',
    )
  }
  const { address } = settlement
  const code = await firstAnswer(quorum, async (provider, signal) =>
    bytes(
      await provider.request({ method: 'eth_getCode', params: [address, 'latest'], signal }),
      'code',
    ),
  )
  if (!settlement.isCode(code)) {
    throw refused(
      'contract_mismatch',
      `The code at ${address} is not that of the settlement contract. Correct SETTLEMENT_ADDRESS or ETH_RPC_URL.`,
    )
  }
  return address
}

async function payerOf(context: SenderContext, db: Db, request: PaymentRequest): Promise<Hex> {
  const { chainId, pool } = context
  if (request.payer !== undefined) return request.payer.toLowerCase() as Hex
  const signer = pool.length > 0 ? await idlestSigner(db, { chainId, signers: pool }) : undefined
  if (signer !== undefined) return signer
  throw refused('no_signer', 'The platform has no signer for this payment. Set QUITTANCE_SIGNER.')
}

function balanceOf(quorum: Quorum, signer: Hex): Promise<bigint> {
  return firstAnswer(quorum, async (provider, signal) =>
    quantity(
      await provider.request({ method: 'eth_getBalance', params: [signer, 'latest'], signal }),
      'balance',
    ),
  )
}
