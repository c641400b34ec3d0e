import { Type, type Static } from 'typebox'

import { namedAnswer, namedRequest } from '../shapes.ts'

/** The text is checked for its form only; whether it is right, the comparison tells. */
export const TokenRequestSchema = namedRequest('TokenRequest', {
  username: Type.String({ minLength: 1, maxLength: 128, examples: ['alice'] }),
  password: Type.String({
    minLength: 1,
    maxLength: 1024,
    format: 'password',
    examples: ['correct horse battery staple'],
  }),
})
export const TokenAnswerSchema = namedAnswer('Token', {
  access_token: Type.String({
    description: 'A JWT. Send it as `Authorization: Bearer …`.',
    examples: ['eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIzIn0.c2lnbmF0dXJl'],
  }),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds until it expires.', examples: [3600] }),
  user_id: Type.Integer({ examples: [3] }),
  username: Type.String({ examples: ['alice'] }),
})
export type TokenAnswer = Static<typeof TokenAnswerSchema>
