import { checksummed } from '../../../../chain/hex.ts'
import { formatAmount } from '../../../../domain/money.ts'
import { listMovements, type Movement } from '../../../../store/ledger/movements.ts'
import { listEveryonesDisputes } from '../../../../store/rails/disputes.ts'
import { decimalOf } from '../../../../wire/group-a/money.ts'
import {
  DisputeListQuerySchema,
  DisputeListSchema,
  MovementListQuerySchema,
  MovementListSchema,
  type MovementWire,
} from '../../../../wire/group-b/console.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { idOf, pageOf } from '../../lists.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

export const movementListEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/movements',
  operationId: 'listEveryonesMovements',
  summary: 'List the mints, redeems or wires of all users, newest first',
  query: MovementListQuerySchema,
  answer: MovementListSchema,
  handle: async ({ query, db }) => {
    const { kind, user_id: userId, after } = query
    const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
      listMovements(db, { kind, userId, before: idOf(after), limit }),
    )
    return {
      success: true as const,
      movements: shown.map(toMovementWire),
      next_after: last ? String(last.seq) : null,
    }
  },
})

function toMovementWire(movement: Movement): MovementWire {
  const { walletId, amount, to } = movement
  return {
    ...fieldsOf(movement, 'id', 'kind', 'userId', 'username', 'currency', 'status', 'errorCode'),
    ...fieldsOf(movement, 'transactionHash', 'createdAt', 'updatedAt'),
    wallet_id: String(walletId),
    amount_decimal: decimalOf(amount),
    to: to?.startsWith('0x') ? checksummed(to) : (to ?? null),
  }
}

export const disputeListEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/disputes',
  operationId: 'listEveryonesDisputes',
  summary: 'List the disputes of all users, newest first',
  query: DisputeListQuerySchema,
  answer: DisputeListSchema,
  handle: async ({ query, db }) => {
    const disputes = await listEveryonesDisputes(db, effectiveLimit(query.limit))
    return {
      success: true as const,
      disputes: disputes.map(({ amountMinor, ...dispute }) => ({
        ...fieldsOf(dispute, 'disputeId', 'transactionId', 'userId', 'username', 'status'),
        ...fieldsOf(dispute, 'reason', 'currency', 'createdAt'),
        amount_decimal:
          amountMinor === undefined
            ? null
            : formatAmount({ amount: amountMinor, decimals: 2, minDecimals: 2 }),
      })),
    }
  },
})
