import { Type, type Static } from 'typebox'

import { AMOUNT_FIELDS, AmountInputSchema, AnyCurrencySchema, CurrencySchema } from '../amounts.ts'
import { namedAnswer, nullable, requestObject } from '../shapes.ts'
import { DescriptionSchema } from './payments.ts'
import { TransactionIdSchema, TransactionStatusSchema } from './transactions.ts'

export const InstitutionIdSchema = Type.Integer({
  minimum: 1,
  description: 'An institution of `GET /api/institutions`.',
  examples: [1],
})

export const TransferCreateSchema = requestObject({
  institution_id: InstitutionIdSchema,
  amount: AmountInputSchema,
  currency: CurrencySchema,
  description: DescriptionSchema,
  recipient_info: Type.Optional(
    requestObject({
      account_number: Type.String({
        pattern: '^[0-9A-Za-z-]{1,17}$',
        examples: ['987654321'],
      }),
      routing_number: Type.String({
        pattern: '^[0-9]{9}$',
        description: 'Nine digits; the last one is a check digit.',
        examples: ['101050001'],
      }),
      name: Type.Optional(
        Type.String({ minLength: 1, maxLength: 140, examples: ['Ada Lovelace'] }),
      ),
    }),
  ),
})
export type TransferCreate = Static<typeof TransferCreateSchema>

const TRANSFER_FIELDS = {
  transaction_id: TransactionIdSchema,
  transfer_id: Type.String({ examples: ['TRF04419271330985127764'] }),
  status: TransactionStatusSchema,
  ...AMOUNT_FIELDS,
  currency: AnyCurrencySchema,
}

export const TransferCreatedSchema = namedAnswer('TransferCreated', TRANSFER_FIELDS)
export type TransferCreated = Static<typeof TransferCreatedSchema>

export const TransferStatusSchema = namedAnswer('TransferStatus', {
  ...TRANSFER_FIELDS,
  institution_reference: nullable(
    Type.String({
      description: 'The reference at the bank of the recipient; null until the bank has it.',
      examples: ['091000012345678'],
    }),
  ),
  error_code: nullable(
    Type.String({
      description: 'Why it failed or was returned.',
      examples: ['no_account'],
    }),
  ),
})
export type TransferStatus = Static<typeof TransferStatusSchema>

export const InstitutionListSchema = namedAnswer('InstitutionList', {
  institutions: Type.Array(
    Type.Object({
      institution_id: InstitutionIdSchema,
      kind: Type.Enum(['ach', 'wire']),
      currencies: Type.Array(CurrencySchema),
    }),
  ),
})
export type InstitutionList = Static<typeof InstitutionListSchema>
