import type { Institution } from '../../../domain/gateways.ts'
import { InstitutionListSchema } from '../../../wire/group-b/transfers.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'

export function institutionListEndpoint({
  institutions,
}: {
  institutions: readonly Institution[]
}): Endpoint {
  return defineEndpoint({
    route: 'GET /api/institutions',
    operationId: 'listInstitutions',
    summary: 'List the institutions for transfers',
    tag: 'Transfers',
    access: 'transfers:read',
    answer: InstitutionListSchema,
    handle: async () => ({
      success: true as const,
      institutions: institutions.map(({ id, kind, currencies }) => ({
        institution_id: id,
        kind,
        currencies: [...currencies],
      })),
    }),
  })
}
