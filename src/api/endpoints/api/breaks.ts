import type { Clock } from '../../../base/clock.ts'
import { actorOf } from '../../../domain/access.ts'
import { ageBucket, amountAtRisk, BREAK_MEANINGS, BREAK_REMEDIES } from '../../../domain/breaks.ts'
import type { Db } from '../../../store/database/database.ts'
import {
  closeBreak,
  countBreaks,
  findBreak,
  listBreakMoves,
  listBreaks,
  type OpenBreak,
} from '../../../store/reconciliation/breaks.ts'
import { RequestError } from '../../../wire/errors.ts'
import {
  BreakCloseSchema,
  BreakDetailSchema,
  BreakListQuerySchema,
  BreakListSchema,
  BreakParamsSchema,
  BreakVerifiedSchema,
  type BreakWire,
} from '../../../wire/group-b/reconciliation.ts'
import { effectiveLimit } from '../../../wire/shapes.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { chainOf, wantedChain, type Chains } from '../../chains.ts'
import { idOf, pageOf } from '../lists.ts'
import { fieldsOf } from './fields.ts'

const SHARED = { tag: 'Reconciliation', access: 'admin' } as const

/** What looks at a break again; the composition root fits it in. */
export type BreakChecks = {
  check: (db: Db, found: OpenBreak) => Promise<'stands' | 'resolved' | 'unclear'>
  settle: (
    db: Db,
    settled: { found: OpenBreak; check: 'stands' | 'resolved' | 'unclear'; actor: string },
  ) => Promise<void>
}

type Deps = { chains: Chains<{ breakChecks: BreakChecks }>; clock: Clock }

export function breakEndpoints(deps: Deps): Endpoint[] {
  return [listEndpoint(deps), detailEndpoint(deps), closeEndpoint(deps), verifyEndpoint(deps)]
}

function listEndpoint(deps: Deps): Endpoint {
  const { chains, clock } = deps
  return defineEndpoint({
    ...SHARED,
    route: 'GET /api/breaks',
    operationId: 'listBreaks',
    summary: 'List disagreements between records and the chain, newest first',
    query: BreakListQuerySchema,
    answer: BreakListSchema,
    handle: async ({ query, db }) => {
      const { kind, state, age, transaction_id: transactionId, min_amount: minAmount } = query
      const now = clock.now()
      const chainId = wantedChain(chains, query)
      const filter = { chainId, kind, state, age, transactionId, minAmount }
      const before = idOf(query.cursor)
      const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
        listBreaks(db, filter, { before, limit, now }),
      )
      return {
        success: true as const,
        breaks: shown.map((one) => toBreakWire(one, deps)),
        total: await countBreaks(db, filter, now),
        next_cursor: last ? String(last.key) : null,
      }
    },
  })
}

function detailEndpoint(deps: Deps): Endpoint {
  return defineEndpoint({
    ...SHARED,
    route: 'GET /api/breaks/{break_id}',
    operationId: 'getBreak',
    summary: 'Read a disagreement with its evidence and its history',
    params: BreakParamsSchema,
    answer: BreakDetailSchema,
    handle: ({ params, db }) => detailOf(db, params.break_id, deps),
  })
}

function closeEndpoint(deps: Deps): Endpoint {
  return defineEndpoint({
    ...SHARED,
    route: 'POST /api/breaks/{break_id}/close',
    operationId: 'closeBreak',
    summary: 'Close a disagreement by hand, with a note',
    params: BreakParamsSchema,
    body: BreakCloseSchema,
    answer: BreakDetailSchema,
    failures: ['conflict'],
    handle: async ({ params, body, caller, db }) => {
      const breakId = params.break_id
      await requireBreak(db, breakId)
      const { note } = body
      const now = deps.clock.now()
      const close = { breakId, as: 'operator', actor: actorOf(caller), note, now } as const
      if (!(await closeBreak(db, close))) {
        throw new RequestError('conflict', 'This break is closed already. Read it again.')
      }
      return detailOf(db, breakId, deps)
    },
  })
}

function verifyEndpoint(deps: Deps): Endpoint {
  const { chains } = deps
  return defineEndpoint({
    ...SHARED,
    route: 'POST /api/breaks/{break_id}/verify',
    operationId: 'verifyBreak',
    summary: 'Check a disagreement again, now, and close it if its cause is gone',
    params: BreakParamsSchema,
    answer: BreakVerifiedSchema,
    prepare: async ({ params, db }) => {
      const found = await requireBreak(db, params.break_id)
      const { breakChecks } = chainOf(chains, found.chainId)
      return { found, breakChecks, check: await breakChecks.check(db, found) }
    },
    handle: async ({ caller, db, prepared }) => {
      const { found, breakChecks, check } = prepared
      await breakChecks.settle(db, { found, check, actor: actorOf(caller) })
      const now = await requireBreak(db, found.id)
      return { success: true as const, result: check, break: toBreakWire(now, deps) }
    },
  })
}

async function detailOf(db: Db, breakId: string, deps: Deps) {
  const found = await requireBreak(db, breakId)
  const moves = await listBreakMoves(db, found.key)
  return {
    success: true as const,
    break: toBreakWire(found, deps),
    history: moves.map(({ at, ...move }) => ({ ...move, at: at.toISOString() })),
  }
}

async function requireBreak(db: Db, breakId: string): Promise<OpenBreak> {
  const found = await findBreak(db, breakId)
  if (!found) throw new RequestError('not_found', 'There is no break with this id.')
  return found
}

function toBreakWire(found: OpenBreak, { chains, clock }: Deps): BreakWire {
  const chain = chains.all().find(({ chainId }) => chainId === found.chainId)
  const atRisk = amountAtRisk(found, chain?.coin)
  return {
    ...fieldsOf(found, 'id', 'chain', 'kind', 'state', 'closedAs', 'source', 'transactionId'),
    eth_transaction_hash: found.hash,
    ...fieldsOf(found, 'recorded', 'onChain', 'evidence'),
    meaning: BREAK_MEANINGS[found.kind],
    remedy: BREAK_REMEDIES[found.kind],
    at_risk_decimal: atRisk?.amount ?? null,
    at_risk_currency: atRisk?.currency ?? null,
    age: ageBucket(found.firstSeenAt, clock.now()),
    ...fieldsOf(found, 'firstSeenAt', 'lastSeenAt', 'closedAt'),
  }
}
