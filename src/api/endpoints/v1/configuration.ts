import { mainWallet } from '../../../store/ledger/wallets.ts'
import { ConfigurationSchema } from '../../../wire/group-a/wallets.ts'
import { defineEndpoint } from '../../admission/endpoint.ts'

export const configurationEndpoint = defineEndpoint({
  route: 'GET /v1/configuration',
  operationId: 'getConfiguration',
  summary: 'Read which wallet is your main one',
  tag: 'Management',
  access: 'wallets:read',
  answer: ConfigurationSchema,
  handle: async ({ caller, db }) => {
    const { id } = await mainWallet(db, caller.userId)
    return { data: { payments: { masterWalletId: String(id) } } }
  },
})
