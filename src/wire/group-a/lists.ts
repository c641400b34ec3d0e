import { Type, type Static } from 'typebox'

import { LIST_LIMIT_MAX, MomentSchema, requestObject, UuidSchema } from '../shapes.ts'

export const IdParamsSchema = requestObject({ id: UuidSchema })

/** A key in the body stands for the one in the header. */
export const IdempotencyKeySchema = Type.Optional(
  Type.String({
    pattern: '^[\\x21-\\x7e]{1,255}$',
    description: 'The same as the header `Idempotency-Key`.',
    examples: ['ba943ff1-ca16-49b2-ba55-1057e70ca5c7'],
  }),
)

/** How lists of Group A are walked: newest first, from one row to the next. */
export function pageQuery(id: typeof UuidSchema) {
  return {
    from: Type.Optional({ ...MomentSchema, description: 'Created at this time or later.' }),
    to: Type.Optional({ ...MomentSchema, description: 'Created at this time or earlier.' }),
    pageBefore: Type.Optional({ ...id, description: 'Returns the page before this id.' }),
    pageAfter: Type.Optional({ ...id, description: 'Returns the page after this id.' }),
    pageSize: Type.Integer({
      minimum: 1,
      default: 50,
      description: `The maximum number of rows. More than ${LIST_LIMIT_MAX} counts as ${LIST_LIMIT_MAX}.`,
      examples: [50],
    }),
  }
}

const PageQuerySchema = Type.Object(pageQuery(UuidSchema))
export type PageQuery = Static<typeof PageQuerySchema>
