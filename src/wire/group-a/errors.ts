import { Type } from 'typebox'

import { namedObject } from '../shapes.ts'

const ErrorEntrySchema = Type.Object({
  error: Type.String({ examples: ['required', 'unknown_field', 'pattern'] }),
  message: Type.String({ examples: ['This field is required.'] }),
  location: Type.String({ examples: ['destination.name', 'query.limit'] }),
  invalidValue: Type.Unsafe<unknown>({
    description: 'The value that was sent; null if none was sent.',
  }),
  constraints: Type.Object({}, { description: 'What is required.', additionalProperties: true }),
})

const CODES = [
  '-1 unknown',
  '1 authorization',
  '2 invalid entity',
  '3 forbidden',
  '1051 payment not found',
  '1069 wallet not found',
  '1076 amount out of limits',
  '1077 amount must be above 0',
  '1078 currency',
  '1083 idempotency key reused',
  '1089 source not found',
  '1093 insufficient funds',
  '2005 chain unsupported',
  '2007 transfer combination unsupported',
  '5014 address not valid',
].join(', ')

export const ErrorSchema = namedObject('Error', {
  code: Type.Integer({ description: CODES, examples: [2] }),
  message: Type.String({ description: 'A sentence for people.' }),
  errors: Type.Optional(Type.Array(ErrorEntrySchema)),
})

export const ProblemSchema = namedObject(
  'Problem',
  {
    type: Type.String({ examples: ['urn:quittance:problem:invalid_request'] }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'The id of the request.' }),
    code: Type.Integer({ description: CODES, examples: [2] }),
    request_id: Type.String(),
    errors: Type.Optional(Type.Array(ErrorEntrySchema)),
  },
  { description: 'The form of RFC 9457, for `Accept: application/problem+json`.' },
)
