import { Type } from 'typebox'

import { namedObject } from './shapes.ts'

export const LivenessSchema = namedObject('Liveness', { status: Type.Literal('ok') })

export const ReadinessSchema = namedObject('Readiness', {
  status: Type.Enum(['ready', 'not_ready', 'stopping']),
  parts: Type.Record(
    Type.String(),
    Type.Object({
      status: Type.Enum(['ok', 'failed']),
      elapsedMs: Type.Number(),
      message: Type.Optional(Type.String({ description: 'What is wrong, and what to do.' })),
    }),
    { description: 'The database, its schema and the chain.' },
  ),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What the operator has accepted, such as a single provider.',
    }),
  ),
})
