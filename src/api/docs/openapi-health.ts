import { Type, type TSchema } from 'typebox'

import { LivenessSchema, ReadinessSchema } from '../../wire/health.ts'
import { ErrorSchema } from '../../wire/group-b/errors.ts'
import { documentSchema, type Components } from './openapi-schema.ts'

/** What a balancer asks. These two have no credential and no limit of their own. */
export function documentHealth(schemas: Components) {
  const answer = (schema: TSchema, description: string) => ({
    description,
    headers: { 'X-Request-Id': { schema: { type: 'string' } } },
    content: { 'application/json': { schema: documentSchema(schema, schemas) } },
  })
  const common = { tags: ['Health'], security: [], parameters: [] }
  return {
    '/healthz': {
      get: {
        ...common,
        operationId: 'readLiveness',
        summary: 'Tell whether the process lives',
        responses: {
          '200': answer(LivenessSchema, 'It does.'),
          '503': answer(ErrorSchema, 'Too many ask at once.'),
        },
      },
    },
    '/readyz': {
      get: {
        ...common,
        operationId: 'readReadiness',
        summary: 'Tell whether it can serve, part by part',
        responses: {
          '200': answer(ReadinessSchema, 'It can.'),
          '503': answer(
            Type.Union([ReadinessSchema, ErrorSchema]),
            'It cannot, or it stops, or too many ask at once.',
          ),
        },
      },
    },
  }
}
