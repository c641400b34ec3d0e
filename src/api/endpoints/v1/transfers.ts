import type { Static } from 'typebox'

import { ImpossibleError } from '../../../base/errors.ts'
import { checksummed } from '../../../chain/hex.ts'
import { actorOf, type Caller } from '../../../domain/access.ts'
import type { ChainNames } from '../../../domain/chains.ts'
import { createId, type RandomBytes } from '../../../domain/ids.ts'
import type { LedgerAmount, Transfer } from '../../../domain/ledger.ts'
import { CURRENCY_DECIMALS, LEDGER_DECIMALS } from '../../../domain/money.ts'
import type { Hex } from '../../../domain/orders.ts'
import type { LedgerContext } from '../../../ledger/context.ts'
import { createRedeem, newReference } from '../../../ledger/redeems.ts'
import { transferBetween } from '../../../ledger/wallet-transfers.ts'
import { createWithdrawal } from '../../../ledger/withdrawals.ts'
import type { Db } from '../../../store/database/database.ts'
import { mainWallet } from '../../../store/ledger/wallets.ts'
import { recordTransaction } from '../../../store/transactions/transactions.ts'
import { readMoney, refusal } from '../../../wire/group-a/money.ts'
import { requireBothNumbers, requireFields } from '../../../wire/group-a/places.ts'
import {
  TransferAnswerSchema,
  transferBody,
  TransferCreateSchema,
  TransferListQuerySchema,
  TransferReadQuerySchema,
} from '../../../wire/group-a/transfers.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { answerTo, SENDER_REFUSALS, type Refusals } from '../../admission/refusals.ts'
import type { Chains } from '../../chains.ts'
import { PLATFORM_REFUSALS, type Minting } from './business-account/transfers.ts'
import { transferMoves } from './moves.ts'
import {
  answeringFunds,
  destinationWallet,
  requireAddress,
  requireBank,
  requireChain,
  requireHolder,
  requireIssuable,
  sourceWallet,
  type DollarChain,
  type PayingBank,
} from './sides.ts'
import { chainView } from './shown.ts'
import { transferReads } from './transfer-reads.ts'

/** What a burn from the caller's own address needs of the sender. */
export type Burning<Prepared = unknown> = {
  addressOf: (userId: number) => Promise<Hex>
  /** Asks the chain what the burn takes, outside of any transaction, or rejects. */
  prepare: (db: Db, burn: BurnOrder) => Promise<Prepared>
  /** Accepts the order in the open transaction, or rejects with nothing stored. */
  accept: (db: Db, prepared: Prepared) => Promise<unknown>
  kick: () => void
}

export type BurnOrder = {
  /** The id of the redeem. */
  subject: string
  spender: string
  payer: Hex
  /** In millionths, as the token counts. */
  amount: bigint
  /** The memo of the burn. */
  reference: Hex
}

/** What a withdrawal needs of the sender. */
export type Withdrawing<Prepared = unknown> = Minting<Prepared>

/** A chain on which is burnt, and to which is withdrawn. */
export type TransferChain<Burn = unknown, PayOut = unknown> = DollarChain & {
  burning: Burning<Burn>
  withdrawing: Withdrawing<PayOut>
}

type Deps<Burn, PayOut> = {
  ledger: LedgerContext
  bank: PayingBank
  chains: Chains<TransferChain<Burn, PayOut>>
  randomBytes: RandomBytes
  createUuid: () => string
}

export function walletTransferEndpoints<Burn, PayOut>(deps: Deps<Burn, PayOut>): Endpoint[] {
  const reads = transferReads({
    ledger: deps.ledger,
    path: '/v1/transfers',
    access: 'transfers:read',
    kinds: ['wallet', 'redeem', 'withdrawal'],
    read: {
      operationId: 'getTransfer',
      summary: 'Read a transfer, a withdrawal or a redeem',
      query: TransferReadQuerySchema,
    },
    list: {
      operationId: 'listTransfers',
      summary: 'List your transfers, withdrawals and redeems, newest first',
      query: TransferListQuerySchema,
    },
  })
  return [transferCreate(deps), ...reads]
}

function transferCreate<Burn, PayOut>(deps: Deps<Burn, PayOut>): Endpoint {
  const { ledger, bank, chains } = deps
  const view = chainView(ledger)
  return defineEndpoint({
    route: 'POST /v1/transfers',
    operationId: 'createTransfer',
    summary: 'Move money between wallets, withdraw it to a chain, or redeem stablecoin to a bank',
    description:
      'From wallet to wallet, it is complete at once. From wallet to blockchain, it is a ' +
      'withdrawal: the stablecoin is paid to the address. The transfer is complete when that is ' +
      'final; if it fails, the money returns to the wallet. From blockchain to wire, it is ' +
      'a redeem: `redemption` in the answer says what the holder burns, and until when. A token ' +
      'without memos, such as USDC, is not burnt: the named holder sends it to the address of ' +
      'the issuer. When that is final, the wire is sent; when the wire is paid, the transfer is ' +
      'complete. With `source.custodial`, the holder is your own address, and the platform ' +
      'signs. Any other burn is not paid, and is reported.',
    tag: 'Transfers',
    access: 'transfers:write',
    body: TransferCreateSchema,
    status: 201,
    answer: TransferAnswerSchema,
    failures: [
      'insufficient_funds',
      'not_found',
      'contract_not_configured',
      'bank_not_configured',
      'limit_exceeded',
      'payment_would_fail',
      'upstream_failed',
      'operator_needed',
      'signer_unavailable',
    ],
    refusals: BURN_REFUSALS,
    prepare: async ({ body, caller, db }) => {
      const { source, destination } = body
      if (source.type === 'wallet' && destination.type === 'blockchain') {
        return { withdrawal: await prepareWithdrawal(deps, { body, caller, db }) }
      }
      const isBurn = source.type === 'blockchain' && destination.type === 'wire'
      if (isBurn) await requireRedeemable(chains, body)
      if (!isBurn || source.custodial !== true) return {}
      return { burn: await prepareBurn(deps, { body, caller, db }) }
    },
    moves: ({ body, caller, prepared }) => transferMoves({ body, caller, ...prepared }),
    handle: async ({ body, caller, db, prepared }) => {
      const { withdrawal, burn } = prepared
      const payOut = withdrawal && (() => withdraw(deps, { db, caller, ...withdrawal }))
      const request = { ledger, chains, bank, db, body, caller, burn: burn?.burn, payOut }
      if (burn !== undefined) await burn.burning.accept(db, burn.payment)
      const transfer = await BY_SIDES[`${body.source.type} ${body.destination.type}`](request)
      return { data: transferBody(transfer, caller.dialect, view) }
    },
    subjectsOf: ({ data }, { withdrawal }) => [data.id, ...(withdrawal ? [withdrawal.id] : [])],
    onCommitted: () => {
      for (const { burning } of chains.all()) burning.kick()
    },
  })
}

type Prepared<P> = LedgerAmount & {
  id: string
  walletId: bigint
  address: Hex
  payment: P
  on: ChainNames & { withdrawing: Withdrawing<P> }
}

async function prepareWithdrawal<Burn, P>(
  { chains, randomBytes }: Deps<Burn, P>,
  { body, caller, db }: Pick<Request, 'body' | 'caller' | 'db'>,
): Promise<Prepared<P>> {
  const { source, destination } = body
  requireFields(source, { at: 'source', needed: ['id'] })
  requireFields(destination, { at: 'destination', needed: ['chain', 'address'] })
  const { chain, address: text = '' } = destination
  const on = requireChain(chains, { field: 'destination.chain', chain })
  const { token } = on.stablecoin
  const address = requireAddress({ field: 'destination.address', text, token })
  const money = readMoney(body, { decimals: LEDGER_DECIMALS })
  const wallet = await sourceWallet(db, { caller, id: source.id, money })
  const id = createId('TX', randomBytes)
  const { amount } = money
  const order = { subject: id, spender: actorOf(caller), payee: address, amount }
  const payment = await answeringWithdrawal(() => on.withdrawing.prepare(db, order))
  return { id, walletId: wallet.id, address, ...money, payment, on }
}

/** Order, record and held money are stored together, or none of them is. */
async function withdraw<P>(
  { ledger }: { ledger: LedgerContext },
  asked: Prepared<P> & Pick<Request, 'caller' | 'db'>,
): Promise<Transfer> {
  const { db, caller, id: transactionId, walletId, address, amount, currency, payment } = asked
  const { chainId, code, withdrawing } = asked.on
  const { userId } = caller
  const { order, hash: transactionHash } = await answeringWithdrawal(() =>
    withdrawing.accept(db, payment),
  )
  await recordTransaction(db, {
    transactionId,
    userId,
    type: 'withdrawal',
    amount,
    currency,
    description: `Withdrawal to ${checksummed(address)}`,
    chainId,
    toAddress: address,
    ethTransactionHash: transactionHash,
    actor: actorOf(caller),
    reason: 'signed and on its way',
  })
  const chain = { chain: code, chainId, address, reference: order.reference, transactionHash }
  const request = { kind: 'withdrawal', userId, walletId, amount, currency, transactionId } as const
  return answeringFunds(() => createWithdrawal(ledger, db, { ...request, ...chain }))
}

/** The platform pays, so that nothing which it lacks is the caller's. */
async function answeringWithdrawal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw answerTo(error, WITHDRAWAL_REFUSALS)
  }
}

const WITHDRAWAL_REFUSALS: Refusals = {
  ...PLATFORM_REFUSALS,
  holdings_too_small: { failure: 'limit_exceeded', field: 'amount' },
}

/** What the sender refuses, in the words of a redeem. */
const BURN_REFUSALS: Refusals = {
  ...SENDER_REFUSALS,
  amount_not_positive: { failure: 'invalid_request', field: 'amount', groupA: 1077 },
  insufficient_funds: { failure: 'insufficient_funds', field: 'amount' },
  simulation_failed: { failure: 'payment_would_fail', field: 'source.chain' },
  gas_too_high: { failure: 'payment_would_fail', field: 'source.chain' },
  stablecoin_not_configured: { failure: 'contract_not_configured', field: 'source.chain' },
}

async function prepareBurn<Burn, P>(
  { ledger, chains, bank, createUuid }: Deps<Burn, P>,
  { body, caller, db }: Pick<Request, 'body' | 'caller' | 'db'>,
) {
  const { chain } = body.source
  const { burning } = requireChain(chains, { field: 'source.chain', chain })
  requireBank(bank)
  const { amount } = readMoney(body, { decimals: CURRENCY_DECIMALS.USD })
  const [id, reference] = [createUuid(), newReference(ledger)]
  const address = await burning.addressOf(caller.userId)
  const order = { subject: id, spender: actorOf(caller), payer: address, amount, reference }
  const payment = await burning.prepare(db, order)
  return { burn: { id, reference, address }, burning, payment }
}

type Body = Static<typeof TransferCreateSchema>
type Request = {
  ledger: LedgerContext
  chains: Chains<DollarChain>
  bank: PayingBank
  db: Db
  body: Body
  caller: Caller
  /** What is burnt from the caller's own address, for a redeem. */
  burn: { id: string; reference: Hex; address: Hex } | undefined
  /** What was prepared to be paid on the chain, for a withdrawal. */
  payOut: (() => Promise<Transfer>) | undefined
}
type Sides = `${Body['source']['type']} ${Body['destination']['type']}`

/** The types of both sides select the kind of transfer. */
const BY_SIDES: Readonly<Record<Sides, (request: Request) => Promise<Transfer>>> = {
  'wallet wallet': betweenWallets,
  'blockchain wire': redeem,
  'wallet wire': (request) => refuse(request, 'Use POST /v1/payments to pay to a bank.'),
  'wallet blockchain': ({ payOut }) => {
    if (payOut === undefined) throw new ImpossibleError('a withdrawal is prepared')
    return payOut()
  },
  'blockchain wallet': (request) => refuse(request, 'Redeem to a wire.'),
  'blockchain blockchain': (request) => refuse(request, 'The holder pays on the chain.'),
}

async function refuse({ body }: Request, instead: string): Promise<never> {
  const { source, destination } = body
  const message = `A transfer from ${source.type} to ${destination.type} is refused. ${instead}`
  const problem = { field: 'destination.type', code: 'combination', message }
  throw refusal({ ...problem, value: destination.type }, 2007)
}

async function betweenWallets({ ledger, db, body, caller }: Request): Promise<Transfer> {
  const { source, destination } = body
  requireFields(source, { at: 'source', needed: ['id'] })
  requireFields(destination, { at: 'destination', needed: ['id'] })
  const money = readMoney(body, { decimals: LEDGER_DECIMALS })
  const to = destination.id ?? ''
  if (!WALLET_ID.test(to)) {
    const message = 'This is not the id of a wallet. Check it.'
    throw invalidRequest([{ field: 'destination.id', code: 'pattern', message, value: to }])
  }
  if (source.id === to) {
    const message = 'The money is in this wallet already. Choose another wallet.'
    throw refusal({ field: 'destination.id', code: 'combination', message, value: to }, 2007)
  }
  const from = await sourceWallet(db, { caller, id: source.id, money })
  const toWallet = await destinationWallet(db, { caller, id: to })
  const sides = { userId: caller.userId, walletId: from.id, toWalletId: toWallet.id }
  return answeringFunds(() => transferBetween(ledger, db, { kind: 'wallet', ...sides, ...money }))
}

const WALLET_ID = /^[1-9][0-9]{0,17}$/

async function redeem({
  ledger,
  chains,
  bank,
  db,
  body,
  caller,
  burn,
}: Request): Promise<Transfer> {
  const { source } = body
  const { type: _, ...destination } = body.destination
  requireFields(body.destination, { at: 'destination', needed: [], allowed: WIRE_NAMES })
  requireBothNumbers(destination)
  const { chain = '' } = source
  const { stablecoin, chainId, code } = requireChain(chains, { field: 'source.chain', chain })
  requireBank(bank)
  // A bank is a side, and moves no less than a cent.
  const money = readMoney(body, { decimals: CURRENCY_DECIMALS.USD })
  const { token } = stablecoin
  const named =
    source.address === undefined
      ? undefined
      : requireAddress({ field: 'source.address', text: source.address, token })
  if (burn !== undefined && named !== undefined && named !== burn.address) {
    const message = 'The holder is your own address at the platform. Leave this address out.'
    const problem = { field: 'source.address', code: 'combination', message }
    throw refusal({ ...problem, value: source.address }, 2007)
  }
  const address = burn?.address ?? named
  const { userId } = caller
  if (stablecoin.issuer !== undefined) await requireHolder(db, { userId, holder: address })
  const { id: walletId } = await mainWallet(db, userId)
  const request = { userId, walletId, chain: code, chainId, address, destination, ...money }
  return createRedeem(ledger, db, { kind: 'redeem', ...request, ...burn })
}

async function requireRedeemable(chains: Chains<DollarChain>, { source }: Body): Promise<void> {
  requireFields(source, { at: 'source', needed: ['chain'], allowed: ['address', 'custodial'] })
  const { chain = '' } = source
  const { stablecoin } = requireChain(chains, { field: 'source.chain', chain })
  await requireIssuable(stablecoin, { field: 'source.chain', chain, what: 'redeemed' })
}

const WIRE_NAMES = ['name', 'addressLine1', 'accountNumber', 'routingNumber', 'id']
