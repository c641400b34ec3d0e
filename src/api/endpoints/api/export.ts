import type { Clock } from '../../../base/clock.ts'
import { ImpossibleError } from '../../../base/errors.ts'
import { limits } from '../../../base/limits.ts'
import { mayUse } from '../../../domain/access.ts'
import { EXPORTS } from '../../../store/transactions/exports.ts'
import {
  exportLines,
  ExportQuerySchema,
  ExportRowSchema,
  type ExportFormat,
} from '../../../wire/group-b/exports.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { wantedChain, type Chains } from '../../chains.ts'

/** Your own books, and to administrators everybody's. */
export function exportEndpoint({ clock, chains }: { clock: Clock; chains: Chains }): Endpoint {
  return defineEndpoint({
    route: 'GET /api/export',
    operationId: 'exportBooks',
    summary: 'Export transactions, postings or fees, with balances that add up',
    description:
      'CSV or JSON lines of any number. Each account has an `opening` line, its entries, each ' +
      'with the balance after it, and a `closing` line: a file without it is not whole. Postings ' +
      'continue where an earlier export ended. Transactions and fees belong to the time in which ' +
      'they began, with their current state. Administrators get those of all users, in at most ' +
      `${limits.streamMs / 60_000} minutes; \`quittance export\` has no such limit.`,
    tag: 'Transactions',
    access: 'transactions:read',
    query: ExportQuerySchema,
    answer: ExportRowSchema,
    handle: () => Promise.reject(new ImpossibleError('an export is streamed')),
    media: {
      types: Object.values(TYPES),
      of: ({ kind, format }) => ({ type: TYPES[format], file: `${kind}.${format}` }),
    },
    follow({ query, caller, db }) {
      const { kind, format } = query
      const latest = new Date(clock.now().getTime() - limits.exportSettleMs)
      const from = new Date(query.from ?? 0)
      const asked = query.to === undefined ? latest : new Date(query.to)
      const to = asked < latest ? asked : latest
      if (from > to) {
        const message = `The end is ${to.toISOString()}. Send an earlier \`from\`.`
        throw invalidRequest([{ field: 'query.from', code: 'from_after_to', message }])
      }
      const chainId = wantedChain(chains, query)
      const userId = mayUse(caller, 'admin') ? undefined : caller.userId
      return exportLines(EXPORTS[kind](db, { userId, chainId, from, to }), {
        kind,
        format,
        from,
        to,
      })
    },
  })
}

const TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
}
