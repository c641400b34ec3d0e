import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { Registry } from 'prom-client'

import { createBells } from '../../src/base/bells.ts'
import type { Endpoint } from '../../src/api/admission/endpoint.ts'
import type { BlockchainPayments } from '../../src/api/endpoints/api/blockchain/payments.ts'
import type { PaymentDesk } from '../../src/api/endpoints/api/payments/create.ts'
import { createServer } from '../../src/api/server/server.ts'
import { createOperations } from '../../src/app/operations.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createId } from '../../src/domain/ids.ts'
import { listApiKeys } from '../../src/store/access/api-keys.ts'
import type { Db } from '../../src/store/database/database.ts'
import { mainWallet } from '../../src/store/ledger/wallets.ts'
import { listAlertRows, openAlert } from '../../src/store/orders/sender-alerts.ts'
import { insertCharge } from '../../src/store/rails/charges.ts'
import { insertTransfer } from '../../src/store/rails/wires.ts'
import { insertBatch } from '../../src/store/transactions/batches.ts'
import { insertReceipt } from '../../src/store/transactions/receipts.ts'
import { operatingOf } from '../fixtures/api/operating.ts'
import { makeVisitors, type Visitor } from '../fixtures/api/visitors.ts'
import { makeDelivery, makeSubscription } from '../fixtures/api/webhooks.ts'
import {
  ledgerOf,
  makeMint,
  makePayment,
  makeWalletTransfer,
  noBurning,
  noMinting,
} from '../fixtures/books/money.ts'
import { makeBreak, makeRun, reconciliationGround } from '../fixtures/books/runs.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { injectInTurn } from '../fixtures/in-turn.ts'
import { freshDatabase } from '../fixtures/store/database.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'
import { LOCAL, oneChain } from '../fixtures/api/chains.ts'

/**
 * Makes what an operation with an id shows to the account, and gives the id. An operation that
 * takes an id and is missing here fails the first test.
 */
const MAKERS: Record<string, (db: Db, userId: number) => Promise<string>> = {
  '/api/transactions/{transaction_id}': async (db, userId) =>
    (await makeTransaction(db, { userId })).transactionId,
  '/api/transactions/{transaction_id}/receipt': async (db, userId) => {
    const { transactionId } = await makeTransaction(db, { userId })
    const token = randomBytes(32).toString('base64url')
    await insertReceipt(db, { token, transactionId, quittance: '{}' })
    return transactionId
  },
  '/api/blockchain/batches/{batch_id}': makeBatchId,
  '/api/admin/transactions/{transaction_id}': async (db, userId) =>
    (await makeTransaction(db, { userId })).transactionId,
  '/api/admin/batches/{batch_id}': makeBatchId,
  '/api/admin/wallets/{wallet_id}/credit-line': async (db, userId) =>
    String((await mainWallet(db, userId)).id),
  '/api/admin/users/{user_id}/disable': async (_db, userId) => String(userId),
  '/api/admin/users/{user_id}/enable': async (_db, userId) => String(userId),
  '/api/admin/keys/{key_id}/revoke': async (db, userId) =>
    String((await listApiKeys(db, { userId, afterId: 0, limit: 1 }))[0]?.id),
  '/v1/wallets/{walletId}': async (db, userId) => String((await mainWallet(db, userId)).id),
  '/v1/payments/{payment_id}': async (db, userId) => (await makePayment(db, userId)).id,
  '/v1/transfers/{id}': async (db, userId) => (await makeWalletTransfer(db, userId)).id,
  '/v1/businessAccount/transfers/{id}': async (db, userId) => (await makeMint(db, userId)).id,
  '/api/admin/payments/{transaction_id}/decide': makeCharge,
  '/api/payments/{transaction_id}/status': makeCharge,
  '/api/payments/{transaction_id}/refund': makeCharge,
  '/api/transfers/{transaction_id}/status': async (db, userId) => {
    const { transactionId } = await makeTransaction(db, { userId, type: 'transfer' })
    await insertTransfer(db, { transactionId, transferId: 'TRF1' })
    return transactionId
  },
  '/v1/notifications/subscriptions/{id}': makeSubscriptionId,
  '/v1/notifications/subscriptions/{id}/secret': makeSubscriptionId,
  '/v1/notifications/subscriptions/{id}/deliveries': makeSubscriptionId,
  '/api/runs/{run_id}': async (db) => (await makeRun(db)).runId,
  '/api/breaks/{break_id}': (db) => makeBreak(db),
  '/api/breaks/{break_id}/close': (db) => makeBreak(db),
  '/api/breaks/{break_id}/verify': (db) => makeBreak(db),
  '/v1/notifications/deliveries/{id}/replay': makeDeliveryId,
  '/api/deliveries/{id}': makeDeliveryId,
  '/api/deliveries/{id}/replay': makeDeliveryId,
  '/api/admin/alerts/{alert_id}/acknowledge': makeAlertId,
}

async function makeAlertId(db: Db): Promise<string> {
  const hash = `0x${randomBytes(32).toString('hex')}` as const
  const alert = { kind: 'settlement_mismatch', chainId: LOCAL.chainId, orderId: undefined } as const
  await openAlert(db, { ...alert, hash }, new Date())
  return String((await listAlertRows(db)).at(-1)?.id)
}

async function makeBatchId(db: Db, userId: number): Promise<string> {
  const batchId = createId('BAT', randomBytes)
  const asked = { currency: 'ETH', onFailure: 'each', count: 1, amount: 1n } as const
  return (await insertBatch(db, { batchId, userId, chainId: LOCAL.chainId, ...asked })).batchId
}

async function makeDeliveryId(db: Db, userId: number): Promise<string> {
  return (await makeDelivery(db, { userId })).id
}

async function makeSubscriptionId(db: Db, userId: number): Promise<string> {
  return (await makeSubscription(db, { userId })).id
}

async function makeCharge(db: Db, userId: number): Promise<string> {
  const { transactionId } = await makeTransaction(db, { userId, status: 'completed' })
  await insertCharge(db, { transactionId, gatewayId: 1, kind: 'card', dueAt: new Date() })
  return transactionId
}

/** No operation with an id pays. */
const refuse = () => Promise.reject(new Error('nothing is paid here'))
const noDesk: PaymentDesk = {
  gateways: [],
  requireOpen: refuse,
  accept: refuse,
  open: refuse,
  checkoutCurrencies: () => undefined,
  payBacks: () => new Map(),
  checkoutUrl: () => '',
  kick: () => undefined,
}
const noPayments: BlockchainPayments = {
  addressOf: refuse,
  prepare: refuse,
  prepareBatch: refuse,
  estimateBatch: refuse,
  acceptNew: refuse,
  tokens: [],
  balanceOf: refuse,
  tokensOf: refuse,
  kick: () => undefined,
}

describe('every operation that takes an id', () => {
  it('is tried by two accounts in two environments, with every credential', async () => {
    const { db } = await freshDatabase()
    const clock = createTestClock()
    const { owner, visitors } = await makeVisitors(db, clock)
    const ledger = ledgerOf({ clock })
    const operations = createOperations({
      db,
      clock,
      environment: 'sandbox',
      host: '127.0.0.1',
      bells: createBells(),
      chains: oneChain({
        payments: noPayments,
        stablecoin: ledger.stablecoin,
        minting: noMinting,
        burning: noBurning,
        withdrawing: noMinting,
        ...reconciliationGround(clock),
        ...operatingOf(),
      }),
      ledger,
      signal: new AbortController().signal,
      closing: new AbortController().signal,
      desk: noDesk,
      institutions: [],
      kickWires: () => undefined,
      bank: { kick: () => undefined },
    })
    const server = createServer({
      logger: createLogger({ level: 'silent' }),
      registry: new Registry(),
      checks: () => [],
      isStopping: () => false,
      ...operations,
    })
    const withId = operations.endpoints.filter((endpoint) => endpoint.path.includes('{'))
    const paths = new Set(withId.map((endpoint) => endpoint.path))
    expect([...paths]).to.have.members(Object.keys(MAKERS))

    for (const [place, endpoint] of withId.entries()) {
      // Failures are counted by address, and here each credential fails at each operation.
      const remoteAddress = `10.0.0.${place + 1}`
      const { method, path, status } = endpoint
      const make = async () => (await MAKERS[path]?.(db, owner.id)) ?? ''
      const isOnce = method === 'DELETE' || path.endsWith('/refund')
      const made = isOnce ? undefined : await make()
      for (const visitor of visitors) {
        // What is deleted or sent back is not there for the next one.
        const url = path.replace(/\{\w+\}/, made ?? (await make()))
        const request = { method, url, headers: visitor.headers, remoteAddress }
        const { statusCode } = await injectInTurn(server, request)
        const told = `${visitor.name}: ${method} ${path}`
        expect(statusCode, told).to.equal(expectedStatus(visitor, endpoint, owner.id) ?? status)
      }
    }
    await server.close()
  })
})

/** Undefined stands for what the operation answers when all is well. */
function expectedStatus(
  visitor: Visitor,
  { access }: Endpoint,
  ownerId: number,
): number | undefined {
  if (visitor.environment !== 'sandbox') return 401
  if (access === 'admin') return 403
  return visitor.user.id === ownerId ? undefined : 404
}
