import { Type, type Static } from 'typebox'

import { SCOPES } from '../../domain/access.ts'
import { PASSWORD_LENGTH, USERNAME_FORM } from '../../domain/passwords.ts'
import {
  namedAnswer,
  namedObject,
  namedRequest,
  MomentSchema,
  nullable,
  requestObject,
  TimestampSchema,
} from '../shapes.ts'

const IdSchema = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, examples: [3] })

/** Everything in a path is text. What is not a number is refused as text. */
const PathIdSchema = Type.String({ pattern: '^[1-9][0-9]{0,8}$', examples: ['3'] })

const ScopesSchema = Type.Array(Type.Enum([...SCOPES]), {
  minItems: 1,
  maxItems: SCOPES.length,
  uniqueItems: true,
  description: 'A scope to write includes the one to read, and `admin` includes all.',
  examples: [['transactions:read']],
})

const USER_FIELDS = {
  id: IdSchema,
  username: Type.String({ examples: ['alice'] }),
  scopes: ScopesSchema,
  created_at: TimestampSchema,
  disabled_at: nullable(TimestampSchema),
}

const KEY_FIELDS = {
  id: IdSchema,
  user_id: IdSchema,
  username: Type.String({ examples: ['alice'] }),
  name: Type.String({ examples: ['laptop'] }),
  shown: Type.String({
    description: 'The first characters of the key.',
    examples: ['sk_sandbox_1bpsO…'],
  }),
  scopes: ScopesSchema,
  dialect: Type.Enum(['flat', 'nested']),
  created_at: TimestampSchema,
  expires_at: nullable({ ...TimestampSchema, description: 'Null: the key does not expire.' }),
  used_at: nullable({
    ...TimestampSchema,
    description: 'When the key last opened the door, to the minute. Null: never.',
  }),
  revoked_at: nullable(TimestampSchema),
}

const PAGE_FIELDS = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, examples: [50] }),
  after_id: Type.Integer({
    minimum: 0,
    maximum: 2 ** 31 - 1,
    default: 0,
    description: 'The `next_after_id` of the previous page.',
    examples: [50],
  }),
}

const NextSchema = nullable(
  Type.Integer({ description: 'The cursor of the next page; null on the last page.' }),
)

export const UserSchema = namedObject('User', USER_FIELDS)
export type UserWire = Static<typeof UserSchema>

export const UserAnswerSchema = namedAnswer('UserAnswer', { ...USER_FIELDS })

export const UserListQuerySchema = requestObject(PAGE_FIELDS)
export const UserListSchema = namedAnswer('UserList', {
  users: Type.Array(UserSchema),
  next_after_id: NextSchema,
})
export type UserListWire = Static<typeof UserListSchema>

export const UserCreateSchema = namedRequest('UserCreate', {
  username: Type.String({ pattern: USERNAME_FORM, examples: ['alice'] }),
  password: Type.String({
    minLength: PASSWORD_LENGTH.min,
    maxLength: PASSWORD_LENGTH.max,
    format: 'password',
    examples: ['correct horse battery staple'],
  }),
  scopes: ScopesSchema,
})

export const UserParamsSchema = requestObject({ user_id: PathIdSchema })

export const KeySchema = namedObject('ApiKey', KEY_FIELDS)
export type KeyWire = Static<typeof KeySchema>

export const KeyAnswerSchema = namedAnswer('ApiKeyAnswer', { ...KEY_FIELDS })

export const KeyCreatedSchema = namedAnswer('ApiKeyCreated', {
  ...KEY_FIELDS,
  api_key: Type.String({
    description: 'The key. It is shown only once, and only its hash is stored.',
  }),
})
export type KeyCreatedWire = Static<typeof KeyCreatedSchema>

export const KeyListQuerySchema = requestObject({
  user_id: Type.Optional(IdSchema),
  ...PAGE_FIELDS,
})
export const KeyListSchema = namedAnswer('ApiKeyList', {
  api_keys: Type.Array(KeySchema),
  next_after_id: NextSchema,
})
export type KeyListWire = Static<typeof KeyListSchema>

export const KeyCreateSchema = namedRequest('ApiKeyCreate', {
  user_id: IdSchema,
  name: Type.String({ minLength: 1, maxLength: 100, examples: ['laptop'] }),
  scopes: ScopesSchema,
  dialect: Type.Optional(Type.Enum(['flat', 'nested'], { default: 'flat' })),
  expires_at: Type.Optional({
    ...MomentSchema,
    description: 'From when on the key is refused. Absent: it does not expire.',
  }),
})

export const KeyParamsSchema = requestObject({ key_id: PathIdSchema })
