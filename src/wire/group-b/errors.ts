import { Type } from 'typebox'

import { failures, type FailureCode } from '../errors.ts'
import { namedObject } from '../shapes.ts'

export const ErrorDetailSchema = Type.Object({
  field: Type.String({ examples: ['recipient_info.account_number', 'query.limit'] }),
  code: Type.String({ examples: ['required', 'unknown_field', 'pattern'] }),
  message: Type.String({ examples: ['This field is required.'] }),
})

/** The codes are listed, but a client must bear with one that it does not know yet. */
export const ErrorSchema = namedObject('Error', {
  success: Type.Literal(false),
  error: Type.String({ description: 'A sentence for people.' }),
  code: Type.String({
    description: `For programs; one of ${codes().join(', ')}.`,
    examples: ['invalid_request'],
  }),
  request_id: Type.String({ examples: ['0195925e-9a1d-7c3b-8f0e-2b6a4c1d7e55'] }),
  details: Type.Array(ErrorDetailSchema, { description: 'The wrong fields.' }),
})

export const ProblemSchema = namedObject(
  'Problem',
  {
    type: Type.String({ examples: ['urn:quittance:problem:invalid_request'] }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'The id of the request.' }),
    code: Type.String({ examples: ['invalid_request'] }),
    request_id: Type.String(),
    details: Type.Array(ErrorDetailSchema),
  },
  { description: 'The form of RFC 9457, for `Accept: application/problem+json`.' },
)

function codes(): FailureCode[] {
  return Object.keys(failures) as FailureCode[]
}
