import { Type, type Static } from 'typebox'

import {
  EthereumAddressSchema,
  EthereumHashSchema,
  int64,
  namedAnswer,
  namedObject,
  nullable,
  TimestampSchema,
  OnChainSchema,
} from '../shapes.ts'

const DollarsSchema = Type.String({ pattern: '^-?[0-9]+\\.[0-9]{2,6}$', examples: ['1250.00'] })

const FindingSchema = namedObject('SupplyFinding', {
  finding: Type.Enum([
    'no_order',
    'wrong_amount',
    'wrong_holder',
    'wrong_token',
    'late',
    'doubled',
    'unbacked',
    'unknown_mint',
  ]),
  kind: Type.Enum(['mint', 'burn']),
  token: EthereumAddressSchema,
  holder: EthereumAddressSchema,
  amount: DollarsSchema,
  reference: EthereumHashSchema,
  transaction_hash: EthereumHashSchema,
  block_number: int64({ examples: [21_925_176] }),
  transfer_id: nullable(Type.String({ description: 'The redeem or mint that the event names.' })),
  created_at: TimestampSchema,
})

export const SolvencySchema = namedAnswer('Solvency', {
  chain_id: Type.Integer({ examples: [1] }),
  chain: OnChainSchema,
  token: EthereumAddressSchema,
  block_number: int64({ description: 'The final block that was compared.', examples: [42] }),
  checked_at: TimestampSchema,
  holds: Type.Boolean({ description: 'Whether the chain has exactly what the ledger owes.' }),
  supply: {
    ...DollarsSchema,
    description:
      'The supply that the token reports. If others mint too: what the platform minted, minus ' +
      'what it has burnt and what was returned to it and is not burnt yet.',
  },
  liability: { ...DollarsSchema, description: 'The supply by the ledger.' },
  mints_ahead: {
    ...DollarsSchema,
    description: 'On the chain, and not yet complete in the ledger.',
  },
  mints_behind: {
    ...DollarsSchema,
    description: 'Complete in the ledger, in a block after this one.',
  },
  drift: { ...DollarsSchema, description: 'The supply minus the expected supply.' },
  findings: Type.Array(FindingSchema, {
    description:
      'Mints and burns that fit no order, newest first. The platform has paid nothing for them.',
  }),
})

export type SolvencyWire = Static<typeof SolvencySchema>
