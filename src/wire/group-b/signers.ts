import { Type, type Static } from 'typebox'

import { SIGNER_ALERT_KINDS, SIGNER_PURPOSES, STABLECOIN_PROFILES } from '../../domain/signers.ts'
import {
  CoinSchema,
  EthereumAddressSchema,
  named,
  nullable,
  requestObject,
  TimestampSchema,
  UserIdSchema,
  OnChainSchema,
  ChainNameSchema,
} from '../shapes.ts'

const WeiSchema = Type.String({ pattern: '^[0-9]+$', examples: ['1500000000000000000'] })
const EtherSchema = Type.String({ description: 'In the coin of the chain.', examples: ['1.5'] })

const SIGNER_FIELDS = {
  address: EthereumAddressSchema,
  purposes: Type.Array(Type.Enum([...SIGNER_PURPOSES]), { description: 'What it signs for.' }),
  balance_wei: nullable(WeiSchema),
  balance_decimal: nullable(EtherSchema),
  next_nonce: nullable(Type.Integer({ examples: [12] })),
  on_its_way: Type.Integer({ description: 'Transactions that are not final yet.', examples: [3] }),
  gas_today_wei: WeiSchema,
  gas_today_decimal: EtherSchema,
  needed_wei: nullable(WeiSchema),
  needed_decimal: nullable(EtherSchema),
  is_short: nullable(
    Type.Boolean({
      description: 'Its balance is lower than the cost of its next hundred payments.',
    }),
  ),
}

/** What no provider says at the moment is null. */
export const PlatformSignerSchema = named(
  'PlatformSigner',
  Type.Object({
    ...SIGNER_FIELDS,
    mint: nullable(
      Type.Object({
        is_minter: Type.Boolean(),
        allowance: Type.String({ description: 'In dollars.', examples: ['1000000.00'] }),
      }),
    ),
    alerts: Type.Array(
      Type.Object({ kind: Type.Enum([...SIGNER_ALERT_KINDS]), since: TimestampSchema }),
    ),
  }),
)
export type PlatformSignerWire = Static<typeof PlatformSignerSchema>

export const UserSignerSchema = named(
  'UserSigner',
  Type.Object({ user_id: UserIdSchema, username: Type.String(), ...SIGNER_FIELDS }),
)
export type UserSignerWire = Static<typeof UserSignerSchema>

export const SignerListQuerySchema = requestObject({
  chain: Type.Optional(ChainNameSchema),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, examples: [50] }),
  after_id: Type.Integer({
    minimum: 0,
    maximum: 2 ** 31 - 1,
    default: 0,
    description: 'The `next_after_id` of the previous page.',
    examples: [50],
  }),
})

export const StablecoinSchema = named(
  'Stablecoin',
  Type.Object({
    address: EthereumAddressSchema,
    symbol: nullable(Type.String({ examples: ['RUSD'] })),
    decimals: Type.Integer({ examples: [6] }),
    profile: Type.Enum([...STABLECOIN_PROFILES], {
      description:
        '`memo`: its mints and burns name their order. `fiat_token`: it has the functions of ' +
        'USDC. `erc20`: a plain token.',
    }),
    is_paused: nullable(Type.Boolean()),
  }),
)
export type StablecoinWire = Static<typeof StablecoinSchema>

export const SignerListSchema = named(
  'SignerList',
  Type.Object({
    success: Type.Literal(true),
    chain_id: Type.Integer({ examples: [31_337] }),
    chain: OnChainSchema,
    coin: CoinSchema,
    stablecoin: nullable(StablecoinSchema),
    platform: Type.Array(PlatformSignerSchema),
    users: Type.Array(UserSignerSchema, { description: 'In the order of the ids of the users.' }),
    next_after_id: nullable(
      Type.Integer({ description: 'The cursor of the next page; null on the last page.' }),
    ),
  }),
)
export type SignerListWire = Static<typeof SignerListSchema>
