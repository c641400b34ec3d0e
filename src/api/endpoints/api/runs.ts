import { actorOf } from '../../../domain/access.ts'
import type { Db } from '../../../store/database/database.ts'
import { findRun, listRuns, type Run } from '../../../store/reconciliation/runs.ts'
import { RequestError } from '../../../wire/errors.ts'
import {
  RunCreateSchema,
  RunDetailSchema,
  RunListQuerySchema,
  RunListSchema,
  RunParamsSchema,
  type RunWire,
} from '../../../wire/group-b/reconciliation.ts'
import { effectiveLimit } from '../../../wire/shapes.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { chainNamed, wantedChain, type Chains } from '../../chains.ts'
import { idOf, pageOf } from '../lists.ts'
import { fieldsOf } from './fields.ts'

const SHARED = { tag: 'Reconciliation', access: 'admin' } as const

/** Asks for a run in the open transaction; a worker takes it once that has committed. */
export type RequestRun = (
  db: Db,
  request: { requestedBy: string; since: Date | undefined; until: Date | undefined },
) => Promise<Run>

type Deps = {
  chains: Chains<{ requestRun: RequestRun }>
  /** Wakes the workers that take a run. */
  kickRuns: () => void
}

export function runEndpoints(deps: Deps): Endpoint[] {
  return [listEndpoint(deps), createEndpoint(deps), detailEndpoint()]
}

function listEndpoint({ chains }: Deps): Endpoint {
  return defineEndpoint({
    ...SHARED,
    route: 'GET /api/runs',
    operationId: 'listRuns',
    summary: 'List the reconciliation runs, newest first',
    query: RunListQuerySchema,
    answer: RunListSchema,
    handle: async ({ query, db }) => {
      const before = idOf(query.cursor)
      const chainId = wantedChain(chains, query)
      const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
        listRuns(db, { chainId, before, limit }),
      )
      const runs = shown.map(toRunWire)
      return { success: true as const, runs, next_cursor: last ? String(last.id) : null }
    },
  })
}

function createEndpoint({ chains, kickRuns }: Deps): Endpoint {
  return defineEndpoint({
    ...SHARED,
    route: 'POST /api/runs',
    operationId: 'createRun',
    summary: 'Start a reconciliation run over the records of this installation',
    description: 'A worker starts it within seconds. Read the run to follow it.',
    body: RunCreateSchema,
    status: 201,
    answer: RunDetailSchema,
    handle: async ({ body, caller, db }) => {
      const { requestRun } = chainNamed(chains, body.chain)
      const since = body.since === undefined ? undefined : new Date(body.since)
      const until = body.until === undefined ? undefined : new Date(body.until)
      if (since && until && since >= until) {
        const message = 'This is not before `until`. Exchange the two.'
        throw invalidRequest([{ field: 'since', code: 'after_until', message }])
      }
      const run = await requestRun(db, { requestedBy: actorOf(caller), since, until })
      return { success: true as const, run: toRunWire(run) }
    },
    onCommitted: kickRuns,
  })
}

function detailEndpoint(): Endpoint {
  return defineEndpoint({
    ...SHARED,
    route: 'GET /api/runs/{run_id}',
    operationId: 'getRun',
    summary: 'Read a run, also while it works',
    params: RunParamsSchema,
    answer: RunDetailSchema,
    handle: async ({ params, db }) => {
      const run = await findRun(db, params.run_id)
      if (!run) throw new RequestError('not_found', 'There is no run with this id.')
      return { success: true as const, run: toRunWire(run) }
    },
  })
}

export function toRunWire(run: Run): RunWire {
  const { totals } = run
  return {
    ...fieldsOf(run, 'runId', 'chain', 'source', 'state', 'phase', 'requestedBy', 'error'),
    ...fieldsOf(run, 'since', 'until', 'createdAt', 'startedAt', 'updatedAt', 'endedAt'),
    records: countOf(totals['records']),
    records_expected: Number(run.expected),
    matched: countOf(totals['matched']),
    pending: countOf(totals['pending']),
    pending_by_cause: countsOf(totals['byCause']),
    not_compared: countOf(totals['notCompared']),
    not_compared_by_reason: countsOf(totals['byReason']),
    breaks: countOf(totals['breaks']),
    breaks_by_kind: countsOf(totals['byKind']),
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

function countsOf(value: unknown): Record<string, number> {
  const entries = Object.entries(value ?? {}).map(
    ([name, count]) => [name, countOf(count)] as const,
  )
  return Object.fromEntries(entries)
}
