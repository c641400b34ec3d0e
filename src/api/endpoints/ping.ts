import { PingSchema } from '../../wire/group-a/wallets.ts'
import { defineEndpoint } from '../admission/endpoint.ts'

export const pingEndpoint = defineEndpoint({
  route: 'GET /ping',
  operationId: 'ping',
  summary: 'Check that the service answers',
  tag: 'Health',
  access: 'public',
  answer: PingSchema,
  handle: () => Promise.resolve({ message: 'pong' as const }),
})
