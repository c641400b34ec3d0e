import type { LedgerContext } from '../../../../ledger/context.ts'
import {
  findRecipient,
  insertRecipient,
  listRecipients,
} from '../../../../store/transactions/recipient-addresses.ts'
import { pageQuery } from '../../../../wire/group-a/lists.ts'
import { refusal } from '../../../../wire/group-a/money.ts'
import {
  RecipientAnswerSchema,
  recipientBody,
  RecipientCreateSchema,
  RecipientListSchema,
} from '../../../../wire/group-a/transfers.ts'
import { requestObject, UuidSchema } from '../../../../wire/shapes.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import type { Chains } from '../../../chains.ts'
import { readPage } from '../../lists.ts'
import { requireAddress, requireChain, type DollarChain } from '../sides.ts'
import { chainView } from '../shown.ts'

const PATH = '/v1/businessAccount/wallets/addresses/recipient'

type Deps = { ledger: LedgerContext; chains: Chains<DollarChain> }

export function recipientEndpoints(deps: Deps): Endpoint[] {
  return [recipientCreate(deps), recipientList(deps)]
}

function recipientCreate({ ledger, chains }: Deps): Endpoint {
  return defineEndpoint({
    route: `POST ${PATH}`,
    operationId: 'createRecipientAddress',
    summary: 'Register an address, so that mints can name it by its id',
    tag: 'Addresses',
    access: 'mint:write',
    body: RecipientCreateSchema,
    status: 201,
    answer: RecipientAnswerSchema,
    failures: ['contract_not_configured'],
    handle: async ({ body, caller, db }) => {
      if (body.currency !== undefined && body.currency !== null && body.currency !== 'USD') {
        const message = 'This currency is not supported. Send USD, in upper case.'
        const { currency: value } = body
        throw refusal({ field: 'currency', code: 'enum', message, value }, 1078)
      }
      const { stablecoin } = requireChain(chains, { field: 'chain', chain: body.chain })
      const { token } = stablecoin
      const address = requireAddress({ field: 'address', text: body.address, token })
      const { chain, description } = body
      const { userId } = caller
      const request = { userId, chain, address, currency: 'USD' as const, description }
      return { data: recipientBody(await insertRecipient(db, request), chainView(ledger)) }
    },
  })
}

function recipientList({ ledger }: Deps): Endpoint {
  return defineEndpoint({
    route: `GET ${PATH}`,
    operationId: 'listRecipientAddresses',
    summary: 'List your registered addresses, newest first',
    tag: 'Addresses',
    access: 'mint:read',
    query: requestObject(pageQuery(UuidSchema)),
    answer: RecipientListSchema,
    handle: async ({ query, caller, db }) => {
      const { userId } = caller
      const page = await readPage(query, async (id) => {
        return (await findRecipient(db, { userId, id }))?.seq
      })
      const found = await listRecipients(db, userId, page)
      return { data: found.map((recipient) => recipientBody(recipient, chainView(ledger))) }
    },
  })
}
