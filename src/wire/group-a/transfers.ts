import { Type, type Static } from 'typebox'

import type { Dialect } from '../../domain/access.ts'
import type { RecipientAddress, Transfer } from '../../domain/ledger.ts'
import type { Hex } from '../../domain/orders.ts'
import {
  EthereumAddressSchema,
  EthereumHashSchema,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
  UuidSchema,
} from '../shapes.ts'
import { IdempotencyKeySchema, pageQuery } from './lists.ts'
import { LedgerCurrencySchema, MONEY_FIELDS, MONEY_INPUT, moneyFields } from './money.ts'
import { AddressTextSchema, ChainTextSchema, WIRE_FIELDS, wireBody } from './places.ts'
import { WalletIdSchema } from './wallets.ts'

const OPTIONAL_WIRE = {
  name: Type.Optional(WIRE_FIELDS.name),
  addressLine1: Type.Optional(WIRE_FIELDS.addressLine1),
  accountNumber: Type.Optional(WIRE_FIELDS.accountNumber),
  routingNumber: Type.Optional(WIRE_FIELDS.routingNumber),
}

export const TransferCreateSchema = requestObject({
  idempotencyKey: IdempotencyKeySchema,
  ...MONEY_INPUT,
  source: requestObject(
    {
      type: Type.Enum(['wallet', 'blockchain']),
      id: Type.Optional(WalletIdSchema),
      chain: Type.Optional(ChainTextSchema),
      address: Type.Optional({
        ...AddressTextSchema,
        description:
          'Of a redeem: the only holder that can burn for it. A token without memos, such as ' +
          'USDC, is not burnt: this holder sends it to the address of the issuer.',
      }),
      custodial: Type.Optional(
        Type.Boolean({
          description:
            'Of a redeem: your own address at the platform is the holder, and the platform signs.',
        }),
      ),
    },
    { description: '`id` of a wallet, `chain` of a blockchain.' },
  ),
  destination: requestObject(
    {
      type: Type.Enum(['wallet', 'wire', 'blockchain']),
      id: Type.Optional(WIRE_FIELDS.id),
      chain: Type.Optional(ChainTextSchema),
      address: Type.Optional(AddressTextSchema),
      ...OPTIONAL_WIRE,
    },
    { description: '`id` of a wallet. A wire needs no other field.' },
  ),
})

export const MintCreateSchema = requestObject({
  idempotencyKey: IdempotencyKeySchema,
  ...MONEY_INPUT,
  source: Type.Optional(
    requestObject(
      { type: Type.Literal('wallet'), id: WalletIdSchema },
      { description: 'The wallet that pays. Default: the main wallet.' },
    ),
  ),
  destination: requestObject(
    {
      type: Type.Enum(['blockchain', 'verified_blockchain', 'wallet', 'wire']),
      chain: Type.Optional(ChainTextSchema),
      address: Type.Optional(AddressTextSchema),
      addressId: Type.Optional(UuidSchema),
      id: Type.Optional(WIRE_FIELDS.id),
      ...OPTIONAL_WIRE,
    },
    { description: '`address` and `chain`, or `addressId` of a registered recipient.' },
  ),
})

export const TransferListQuerySchema = requestObject({
  walletId: Type.Optional(WalletIdSchema),
  sourceWalletId: Type.Optional(WalletIdSchema),
  destinationWalletId: Type.Optional(WalletIdSchema),
  returnIdentities: Type.Optional(
    Type.Boolean({
      description: 'Accepted, without effect: a transfer has no parties but its user.',
    }),
  ),
  ...pageQuery(UuidSchema),
})

export const TransferReadQuerySchema = requestObject({
  returnIdentities: Type.Optional(Type.Boolean()),
})

export const MintListQuerySchema = requestObject(pageQuery(UuidSchema))

const WalletSideSchema = Type.Object({ type: Type.Literal('wallet'), id: WalletIdSchema })
const ChainSideSchema = Type.Object({
  type: Type.Literal('blockchain'),
  chain: Type.String({ examples: ['ETH'] }),
  address: Type.Optional(EthereumAddressSchema),
  addressId: Type.Optional(UuidSchema),
})
const WireSideSchema = Type.Object({
  type: Type.Literal('wire'),
  ...OPTIONAL_WIRE,
  id: Type.Optional(WIRE_FIELDS.id),
})

const RedemptionSchema = namedObject(
  'Redemption',
  {
    reference: EthereumHashSchema,
    token: EthereumAddressSchema,
    chainId: Type.Integer({ examples: [1] }),
    function: Type.Enum(['burnWithMemo(uint256,bytes32)', 'transfer(address,uint256)'], {
      description:
        '`transfer`: a token without memos is sent by the named holder to the address of the ' +
        'issuer, which `calldata` names.',
    }),
    calldata: Type.String({ pattern: '^0x[0-9a-f]+$' }),
    expiresAt: TimestampSchema,
  },
  { description: 'The call of the token that the named holder makes for this redeem.' },
)

export type Redemption = Static<typeof RedemptionSchema>

export const TransferSchema = namedObject('Transfer', {
  id: UuidSchema,
  source: Type.Union([WalletSideSchema, ChainSideSchema]),
  destination: Type.Union([WalletSideSchema, ChainSideSchema, WireSideSchema]),
  ...MONEY_FIELDS,
  transactionHash: Type.Optional(
    nullable(Type.Unsafe<string>({ ...EthereumHashSchema, description: 'On the chain.' })),
  ),
  status: Type.Enum(['pending', 'running', 'complete', 'failed']),
  errorCode: nullable(
    Type.String({ description: 'Why it failed.', examples: ['transfer_failed'] }),
  ),
  reference: Type.Optional(
    Type.Unsafe<string>({
      ...EthereumHashSchema,
      description: 'Of a mint or a withdrawal: its reference on the chain.',
    }),
  ),
  redemption: Type.Optional(RedemptionSchema),
  createDate: TimestampSchema,
  updateDate: TimestampSchema,
})

export const TransferAnswerSchema = Type.Object({ data: TransferSchema })
export const TransferListSchema = Type.Object({ data: Type.Array(TransferSchema) })

/** The database has addresses in lower case. They are shown with their checksum. */
export type ChainView = {
  checksummed: (address: Hex) => string
  redemptionOf: (redeem: Transfer & { kind: 'redeem' }) => Redemption | undefined
}

export function transferBody(
  transfer: Transfer,
  dialect: Dialect,
  view: ChainView,
): Static<typeof TransferSchema> {
  return {
    id: transfer.id,
    ...sidesOf(transfer, view),
    ...moneyFields(transfer, dialect),
    ...(transfer.kind !== 'wallet' && { transactionHash: transfer.transactionHash ?? null }),
    status: transfer.status,
    errorCode: transfer.errorCode ?? null,
    ...('reference' in transfer && transfer.kind !== 'redeem' && { reference: transfer.reference }),
    ...redemptionOf(transfer, view),
    createDate: transfer.createdAt.toISOString(),
    updateDate: transfer.updatedAt.toISOString(),
  }
}

function redemptionOf(transfer: Transfer, view: ChainView): { redemption?: Redemption } {
  const redemption = transfer.kind === 'redeem' ? view.redemptionOf(transfer) : undefined
  return redemption === undefined ? {} : { redemption }
}

function sidesOf(
  transfer: Transfer,
  { checksummed }: ChainView,
): Pick<Static<typeof TransferSchema>, 'source' | 'destination'> {
  switch (transfer.kind) {
    case 'wallet':
      return { source: walletSide(transfer.walletId), destination: walletSide(transfer.toWalletId) }
    case 'mint': {
      const { chain, addressId } = transfer
      const address = checksummed(transfer.address)
      const side = { type: 'blockchain' as const, chain, address }
      const destination = addressId === undefined ? side : { ...side, addressId }
      return { source: walletSide(transfer.walletId), destination }
    }
    case 'withdrawal': {
      const { chain, address, walletId } = transfer
      const destination = { type: 'blockchain' as const, chain, address: checksummed(address) }
      return { source: walletSide(walletId), destination }
    }
    case 'redeem': {
      const { address, chain } = transfer
      const source = { type: 'blockchain' as const, chain }
      return {
        source: address === undefined ? source : { ...source, address: checksummed(address) },
        destination: wireBody(transfer.destination),
      }
    }
    default:
      return transfer satisfies never
  }
}

function walletSide(id: bigint): Static<typeof WalletSideSchema> {
  return { type: 'wallet', id: String(id) }
}

export const RecipientCreateSchema = requestObject({
  idempotencyKey: IdempotencyKeySchema,
  address: AddressTextSchema,
  addressTag: Type.Optional(Type.Null({ description: 'Ethereum has none.' })),
  chain: ChainTextSchema,
  currency: Type.Optional(
    nullable(Type.String({ maxLength: 64, 'x-documented': { enum: ['USD'] }, examples: ['USD'] })),
  ),
  description: Type.String({ minLength: 1, maxLength: 100, examples: ['Treasury'] }),
})

const RecipientSchema = namedObject('RecipientAddress', {
  id: UuidSchema,
  address: EthereumAddressSchema,
  addressTag: Type.Null(),
  chain: Type.String({ examples: ['ETH'] }),
  currency: LedgerCurrencySchema,
  description: Type.String({ examples: ['Treasury'] }),
  status: Type.Literal('active'),
})

export const RecipientAnswerSchema = Type.Object({ data: RecipientSchema })
export const RecipientListSchema = Type.Object({ data: Type.Array(RecipientSchema) })

export function recipientBody(
  recipient: RecipientAddress,
  { checksummed }: Pick<ChainView, 'checksummed'>,
): Static<typeof RecipientSchema> {
  const { id, chain, currency, description } = recipient
  return {
    id,
    address: checksummed(recipient.address),
    addressTag: null,
    chain,
    currency,
    description,
    status: 'active',
  }
}
