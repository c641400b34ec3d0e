import {
  countWallets,
  findWallet,
  insertWallet,
  listWallets,
} from '../../../store/ledger/wallets.ts'
import { RequestError } from '../../../wire/errors.ts'
import {
  walletBody,
  WalletAnswerSchema,
  WalletCreateSchema,
  WalletListQuerySchema,
  WalletListSchema,
  WalletParamsSchema,
} from '../../../wire/group-a/wallets.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { readPage } from '../lists.ts'
import { notFound } from './sides.ts'

export function walletEndpoints(): Endpoint[] {
  return [walletList, walletRead, walletCreate]
}

const walletList = defineEndpoint({
  route: 'GET /v1/wallets',
  operationId: 'listWallets',
  summary: 'List your wallets with their balances, newest first',
  tag: 'Wallets',
  access: 'wallets:read',
  query: WalletListQuerySchema,
  answer: WalletListSchema,
  handle: async ({ query, caller, db }) => {
    const { userId } = caller
    const page = await readPage(query, async (id) => {
      return (await findWallet(db, { userId, id: BigInt(id) }))?.id
    })
    return { data: (await listWallets(db, userId, page)).map(walletBody) }
  },
})

const walletRead = defineEndpoint({
  route: 'GET /v1/wallets/{walletId}',
  operationId: 'getWallet',
  summary: 'Read a wallet with its balance',
  tag: 'Wallets',
  access: 'wallets:read',
  params: WalletParamsSchema,
  unknown: () => notFound('wallet', 1069),
  answer: WalletAnswerSchema,
  handle: async ({ params, caller, db }) => {
    const id = BigInt(params.walletId)
    const wallet = await findWallet(db, { userId: caller.userId, id })
    if (!wallet) throw notFound('wallet', 1069)
    return { data: walletBody(wallet) }
  },
})

const walletCreate = defineEndpoint({
  route: 'POST /v1/wallets',
  operationId: 'createWallet',
  summary: 'Open another wallet',
  description: 'An account has at most 1,000 wallets.',
  tag: 'Wallets',
  access: 'wallets:write',
  body: WalletCreateSchema,
  status: 201,
  answer: WalletAnswerSchema,
  failures: ['limit_exceeded'],
  handle: async ({ body, caller, db }) => {
    const { userId } = caller
    if ((await countWallets(db, userId)) >= MAX_WALLETS) {
      throw new RequestError(
        'limit_exceeded',
        `You have ${MAX_WALLETS} wallets, which is the limit. Use one of them.`,
      )
    }
    const wallet = await insertWallet(db, { userId, description: body.description ?? '' })
    return { data: walletBody(wallet) }
  },
})

const MAX_WALLETS = 1000
