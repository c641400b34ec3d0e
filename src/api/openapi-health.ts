import type { TSchema } from 'typebox'

import { LivenessSchema, ReadinessSchema } from '../wire/health.ts'
import { documentSchema, type Components } from './openapi-schema.ts'

/** What a balancer asks. These two have no credential, no limit and no form of failure. */
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
        responses: { '200': answer(LivenessSchema, 'It does.') },
      },
    },
    '/readyz': {
      get: {
        ...common,
        operationId: 'readReadiness',
        summary: 'Tell whether it can serve, part by part',
        responses: {
          '200': answer(ReadinessSchema, 'It can.'),
          '503': answer(ReadinessSchema, 'It cannot, or it stops.'),
        },
      },
    },
  }
}
