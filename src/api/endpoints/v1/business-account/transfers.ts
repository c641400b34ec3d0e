import type { Static } from 'typebox'

import { checksummed } from '../../../../chain/hex.ts'
import { actorOf, type Caller } from '../../../../domain/access.ts'
import type { ChainNames } from '../../../../domain/chains.ts'
import { LEDGER_DECIMALS } from '../../../../domain/money.ts'
import type { Hex, Order } from '../../../../domain/orders.ts'
import type { LedgerContext } from '../../../../ledger/context.ts'
import { createMint } from '../../../../ledger/mints.ts'
import type { Db } from '../../../../store/database/database.ts'
import { findRecipient } from '../../../../store/transactions/recipient-addresses.ts'
import { decimalOf, readMoney, refusal } from '../../../../wire/group-a/money.ts'
import { requireFields } from '../../../../wire/group-a/places.ts'
import {
  MintCreateSchema,
  MintListQuerySchema,
  TransferAnswerSchema,
  transferBody,
} from '../../../../wire/group-a/transfers.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { later, ofPayee, SENDER_REFUSALS, type Refusals } from '../../../admission/refusals.ts'
import type { Chains } from '../../../chains.ts'
import {
  answeringFunds,
  notFound,
  requireAddress,
  requireChain,
  requireIssuable,
  sourceWallet,
  type DollarChain,
} from '../sides.ts'
import { chainView } from '../shown.ts'
import { transferReads } from '../transfer-reads.ts'

/** What a mint needs of the sender; the composition root fits it in. */
export type Minting<Prepared = unknown> = {
  /** Asks the chain what the mint takes, outside of any transaction, or rejects. */
  prepare: (db: Db, mint: MintOrder) => Promise<Prepared>
  /** Accepts the order in the open transaction, or rejects with nothing stored. */
  accept: (db: Db, prepared: Prepared) => Promise<{ order: Order; hash: Hex }>
  /** What is accepted is sent soon even without it. */
  kick: () => void
}

export type MintOrder = {
  /** The id of the mint. */
  subject: string
  spender: string
  payee: Hex
  /** In millionths, as the token counts. */
  amount: bigint
}

/** A chain on which the platform mints. */
export type MintingChain<Prepared = unknown> = DollarChain & { minting: Minting<Prepared> }

type Deps<Prepared> = {
  ledger: LedgerContext
  chains: Chains<MintingChain<Prepared>>
  createUuid: () => string
}

export function mintEndpoints<Prepared>(deps: Deps<Prepared>): Endpoint[] {
  const reads = transferReads({
    ledger: deps.ledger,
    path: '/v1/businessAccount/transfers',
    access: 'mint:read',
    kinds: ['mint'],
    read: { operationId: 'getMint', summary: 'Read a mint' },
    list: {
      operationId: 'listMints',
      summary: 'List your mints, newest first',
      query: MintListQuerySchema,
    },
  })
  return [mintCreate(deps), ...reads]
}

function mintCreate<Prepared>(deps: Deps<Prepared>): Endpoint {
  const { ledger, chains, createUuid } = deps
  return defineEndpoint({
    route: 'POST /v1/businessAccount/transfers',
    operationId: 'createMint',
    summary: 'Mint stablecoin to an address with money from a wallet',
    description:
      'The money is held at once. When the mint is final on the chain, with its event, its ' +
      'transfer, its memo and its amount, the transfer is `complete`. If it fails, the money ' +
      'returns to the wallet. A higher fee later changes `transactionHash`.',
    tag: 'Transfers',
    access: 'mint:write',
    body: MintCreateSchema,
    status: 201,
    answer: TransferAnswerSchema,
    failures: [
      'insufficient_funds',
      'limit_exceeded',
      'payment_would_fail',
      'contract_not_configured',
      'not_found',
      'upstream_failed',
      'operator_needed',
      'signer_unavailable',
    ],
    refusals: PLATFORM_REFUSALS,
    prepare: async ({ body, caller, db }) => {
      const money = readMoney(body, { decimals: LEDGER_DECIMALS })
      const { on, address: payee, ...named } = await readRecipient({ chains, db, body, caller })
      const wallet = await sourceWallet(db, { caller, id: body.source?.id, money })
      const id = createUuid()
      const order = { subject: id, spender: actorOf(caller), payee, amount: money.amount }
      const { minting, chainId } = on
      const payment = await minting.prepare(db, order)
      const mint = { id, chainId, walletId: wallet.id, address: payee, ...named, ...money }
      return { mint, minting, payment, chain: on.name }
    },
    moves: ({ caller, prepared: { mint, chain } }) => [
      {
        field: 'destination',
        way: 'mint',
        userId: caller.userId,
        amount: decimalOf(mint.amount),
        currency: mint.currency,
        chain,
        address: checksummed(mint.address),
      },
    ],
    handle: async ({ caller, db, prepared }) => {
      const { payment, minting, mint } = prepared
      const { order, hash: transactionHash } = await minting.accept(db, payment)
      const { userId, dialect } = caller
      const { reference } = order
      const request = { kind: 'mint' as const, userId, ...mint, reference, transactionHash }
      const made = await answeringFunds(() => createMint(ledger, db, request))
      return { data: transferBody(made, dialect, chainView(ledger)) }
    },
    subjectsOf: ({ data }) => [data.id],
    onCommitted: () => {
      for (const { minting } of chains.all()) minting.kick()
    },
  })
}

/** What the sender refuses of what the platform pays to an address, in the words of a mint. */
export const PLATFORM_REFUSALS: Refusals = {
  ...SENDER_REFUSALS,
  ...ofPayee({ failure: 'invalid_request', field: 'destination.address', groupA: 5014 }),
  amount_not_positive: { failure: 'invalid_request', field: 'amount', groupA: 1077 },
  simulation_failed: { failure: 'payment_would_fail', field: 'destination.address' },
  gas_too_high: { failure: 'payment_would_fail', field: 'destination.address' },
  stablecoin_not_configured: { failure: 'contract_not_configured', field: 'destination.chain' },
  // The platform lacks ether for the gas, which is not the fault of the caller's wallet.
  insufficient_funds: later,
}

type Request<Prepared> = {
  chains: Chains<MintingChain<Prepared>>
  db: Db
  body: Static<typeof MintCreateSchema>
  caller: Caller
}

type Recipient<Prepared> = {
  on: MintingChain<Prepared> & ChainNames
  address: Hex
  chain: string
  addressId: string | undefined
}

async function readRecipient<Prepared>({
  chains,
  db,
  body,
  caller,
}: Request<Prepared>): Promise<Recipient<Prepared>> {
  const { destination } = body
  const at = 'destination'
  switch (destination.type) {
    case 'blockchain': {
      requireFields(destination, { at, needed: ['chain', 'address'] })
      const { chain = '', address: text = '' } = destination
      const on = await requireMintable(chains, { field: `${at}.chain`, chain })
      const { token } = on.stablecoin
      const address = requireAddress({ field: `${at}.address`, text, token })
      return { on, address, chain, addressId: undefined }
    }
    case 'verified_blockchain': {
      requireFields(destination, { at, needed: ['addressId'] })
      const { addressId = '' } = destination
      const recipient = await findRecipient(db, { userId: caller.userId, id: addressId })
      if (!recipient) throw notFound('recipient address', 5014)
      const { chain, address } = recipient
      const on = await requireMintable(chains, { field: `${at}.addressId`, chain })
      return { on, address, chain, addressId }
    }
    case 'wallet':
    case 'wire': {
      const message = 'A mint goes to a blockchain. Use POST /v1/transfers for other destinations.'
      const value = destination.type
      throw refusal({ field: `${at}.type`, code: 'combination', message, value }, 2007)
    }
    default:
      return destination.type satisfies never
  }
}

/** The chain, where the platform can mint its stablecoin for an order. */
async function requireMintable<Chain extends DollarChain>(
  chains: Chains<Chain>,
  named: { field: string; chain: string },
) {
  const found = requireChain(chains, named)
  await requireIssuable(found.stablecoin, { ...named, what: 'minted' })
  return found
}
