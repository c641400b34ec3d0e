import type { Clock } from '../../../../base/clock.ts'
import { actorOf } from '../../../../domain/access.ts'
import {
  decimalOf,
  decimalOrNull,
  parseLimit,
  problemOfSetting,
  SPEND_LIMITS,
  type SpendLimits,
} from '../../../../domain/spending.ts'
import { findUser } from '../../../../store/access/users.ts'
import type { Db } from '../../../../store/database/database.ts'
import {
  listLimitChanges,
  readLimits,
  setLimits,
  type LimitChange,
} from '../../../../store/orders/spend-limits.ts'
import type { Spend } from '../../../../store/orders/spends.ts'
import {
  LimitAnswerSchema,
  LimitListQuerySchema,
  LimitListSchema,
  LimitSetSchema,
  type LimitChangeWire,
  type LimitsWire,
} from '../../../../wire/group-b/limits.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { idOf, pageOf } from '../../lists.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

type Deps = { clock: Clock }

/** How much may leave, in each way, for everybody and for one user. */
export function limitEndpoints(deps: Deps): Endpoint[] {
  return [limitList(deps), limitSet(deps)]
}

function limitList({ clock }: Deps): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/limits',
    operationId: 'listLimits',
    summary: 'List the limits of every way out, what is used today, and who set them',
    query: LimitListQuerySchema,
    answer: LimitListSchema,
    handle: async ({ query, db }) => {
      const { user_id: userId, after } = query
      await requireUser(db, { userId, field: 'query.user_id' })
      const inForce = await readLimits(db, { userId, now: clock.now() })
      const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
        listLimitChanges(db, { userId, before: idOf(after), limit }),
      )
      return {
        success: true as const,
        limits: inForce.map((one) => toLimitsWire(one, userId)),
        changes: shown.map(toChangeWire),
        next_after: last ? String(last.id) : null,
      }
    },
  })
}

function limitSet({ clock }: Deps): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'POST /api/admin/limits',
    operationId: 'setLimits',
    summary: 'Set the limits of one way out in one currency, for everyone or for one user',
    description:
      'A limit of the user has priority over that of everyone, and that over the default. What ' +
      'is absent stays unchanged, and null removes what was set here. It applies from the next ' +
      'payment on. The answer has the limits that apply then.',
    body: LimitSetSchema,
    answer: LimitAnswerSchema,
    handle: async ({ body, caller, db }) => {
      const { way, currency, user_id: userId } = body
      const { per_transaction: perTransaction, per_day: perDay, per_payee: perPayee } = body
      const texts = { perTransaction, perDay, perPayee }
      const problem = problemOfSetting({ way, currency, ...texts })
      if (problem !== undefined) throw invalidRequest([{ ...problem, code: 'combination' }])
      await requireUser(db, { userId, field: 'user_id' })
      const amounts = Object.fromEntries(
        SPEND_LIMITS.map((limit) => [limit, texts[limit] && parseLimit(texts[limit])]),
      )
      await setLimits(db, { userId, way, currency, ...amounts, by: actorOf(caller) })
      const inForce = await readLimits(db, { userId, now: clock.now() })
      const one = inForce.find((one) => one.way === way && one.currency === currency)!
      return { success: true as const, ...toLimitsWire(one, userId) }
    },
  })
}

async function requireUser(
  db: Db,
  { userId, field }: { userId: number | undefined; field: string },
): Promise<void> {
  if (userId === undefined || (await findUser(db, userId)) !== undefined) return
  const message = 'There is no user with this id.'
  throw invalidRequest([{ field, code: 'unknown_user', message }])
}

function toLimitsWire(spend: Spend, userId: number | undefined): LimitsWire {
  return {
    ...fieldsOf(spend, 'way'),
    currency: spend.currency,
    user_id: userId ?? null,
    ...limitFields(spend.limits),
    used_today: userId === undefined ? null : decimalOf(spend.amount),
  }
}

function toChangeWire(change: LimitChange): LimitChangeWire {
  return {
    id: String(change.id),
    ...fieldsOf(change, 'way', 'changedBy', 'changedAt'),
    currency: change.currency,
    user_id: change.userId ?? null,
    ...limitFields(change),
  }
}

function limitFields({ perTransaction, perDay, perPayee }: SpendLimits) {
  return {
    per_transaction: decimalOrNull(perTransaction),
    per_day: decimalOrNull(perDay),
    per_payee: decimalOrNull(perPayee),
  }
}
