import type { Gateway } from '../../../domain/gateways.ts'
import { gatewayListSchema } from '../../../wire/group-b/payments.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'

export function gatewayListEndpoint({
  desk,
}: {
  desk: { gateways: readonly Gateway[] }
}): Endpoint {
  return defineEndpoint({
    route: 'GET /api/gateways',
    operationId: 'listGateways',
    summary: 'List the gateways for payments',
    tag: 'Payments',
    access: 'payments:read',
    answer: gatewayListSchema(desk.gateways),
    handle: async () => ({
      success: true as const,
      gateways: desk.gateways.map(({ id, kind, currencies }) => ({
        gateway_id: id,
        kind,
        currencies: [...currencies],
      })),
    }),
  })
}
