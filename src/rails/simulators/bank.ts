import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { openJournal } from './journal.ts'
import type { Simulated, SimulatedReply, SimulatedRequest } from './serve.ts'

export type SimulatedBankOptions = {
  key: string
  accountId: string
  now: () => number
  /** How long a day takes here. */
  dayMs: number
  /** Keeps the transfers; absent: in memory. */
  folder?: string | undefined
}

/**
 * What becomes of a transfer, chosen by its account number, or by a word in the name of a
 * beneficiary who has none.
 */
const OUTCOMES = {
  rejected: { account: '1000000001', word: /\brejected\b/i },
  returned: { account: '1000000002', word: /\breturned\b/i },
  /** It accepts the first request, and never answers it. */
  silent: { account: '1000000003', word: /\bsilent\b/i },
  refused: { account: '1000000004', word: /\brefused\b/i },
  stuck: { account: '1000000005', word: /\bstuck\b/i },
} as const

type TransferFate = keyof typeof OUTCOMES | 'paid'

type Transfer = {
  id: string
  method: 'wire' | 'ach'
  body: Record<string, unknown>
  key: string | null
  createdAt: number
  outcome: TransferFate
}

/** A bank that speaks the API of Increase: as much of it as the adapter uses. */
export function createSimulatedBank(options: SimulatedBankOptions): Simulated {
  const { folder } = options
  const transfers = openJournal<Transfer>(folder && join(folder, 'bank.jsonl'))
  const find = (key: string | null) => transfers.find((transfer) => transfer.key === key)
  return (request) => {
    if (request.headers['authorization'] !== `Bearer ${options.key}`) {
      return failure(401, 'invalid_api_key_error')
    }
    if (request.path === '/external_accounts') return externalAccounts(request)
    const match = /^\/(wire|ach)_transfers(?:\/(\w+))?$/.exec(request.path)
    if (match === null) return failure(404, 'object_not_found_error')
    const method = match[1] === 'ach' ? 'ach' : 'wire'
    const id = match[2]
    if (request.method === 'GET' && id !== undefined) {
      const transfer = transfers.get(id)
      return transfer ? shown(transfer, options) : failure(404, 'object_not_found_error')
    }
    if (request.method === 'GET') {
      const found = find(request.query.get('idempotency_key'))
      const data = found && found.method === method ? [show(found, options)] : []
      return { status: 200, json: { data, next_cursor: null } }
    }
    return create({ request, options, method, find, put: transfers.put })
  }
}

function externalAccounts({ query }: SimulatedRequest): SimulatedReply {
  const key = query.get('idempotency_key') ?? ''
  // This bank knows everybody, under an account of their own.
  const id = `external_account_${key.slice(-20)}`
  return { status: 200, json: { data: [{ id, type: 'external_account' }], next_cursor: null } }
}

function create(deps: {
  request: SimulatedRequest
  options: SimulatedBankOptions
  method: Transfer['method']
  find: (key: string) => Transfer | undefined
  put: (transfer: Transfer) => Transfer
}): SimulatedReply {
  const { request, options, method } = deps
  const body = JSON.parse(request.text) as Record<string, unknown>
  const header = request.headers['idempotency-key']
  const key = typeof header === 'string' ? header : null
  const earlier = key === null ? undefined : deps.find(key)
  if (earlier) {
    const isSame = JSON.stringify(earlier.body) === JSON.stringify(body)
    return isSame
      ? { ...shown(earlier, options), headers: { 'idempotent-replayed': 'true' } }
      : failure(409, 'idempotency_key_already_used_error', { resource_id: earlier.id })
  }
  const outcome = outcomeOf(body)
  const isValid =
    body['account_id'] === options.accountId &&
    Number.isSafeInteger(body['amount']) &&
    Number(body['amount']) > 0
  if (!isValid || outcome === 'refused') return failure(400, 'invalid_parameters_error')
  const id = `${method}_transfer_${randomBytes(10).toString('hex')}`
  const transfer = deps.put({ id, method, body, key, createdAt: options.now(), outcome })
  return outcome === 'silent' ? { status: 0, isSilent: true } : shown(transfer, options)
}

function outcomeOf(body: Record<string, unknown>): TransferFate {
  const creditor = (body['creditor'] ?? {}) as { name?: string }
  const name = creditor.name ?? ''
  const names = Object.keys(OUTCOMES) as Array<keyof typeof OUTCOMES>
  return (
    names.find((outcome) => {
      const { account, word } = OUTCOMES[outcome]
      return body['account_number'] === account || word.test(name)
    }) ?? 'paid'
  )
}

function shown(transfer: Transfer, options: SimulatedBankOptions): SimulatedReply {
  return { status: 200, json: show(transfer, options) }
}

/** Where it stands follows from its age, so nothing has to happen for it to move. */
function show(transfer: Transfer, options: SimulatedBankOptions): Record<string, unknown> {
  const { id, method, body, key, outcome } = transfer
  const days = (options.now() - transfer.createdAt) / options.dayMs
  const wire = method === 'wire'
  const isSubmitted = days >= 0.05 && outcome !== 'stuck' && outcome !== 'rejected'
  const isSettled = isSubmitted && days >= (wire ? 0.1 : 0.5)
  const isReturned = outcome === 'returned' && days >= 3
  const trace = BigInt(`0x${id.slice(-12)}`)
    .toString()
    .padStart(15, '0')
  const returned = { return_reason_code: 'no_account' }
  return {
    ...body,
    id,
    type: `${method}_transfer`,
    currency: 'USD',
    network: method,
    idempotency_key: key,
    status: statusOf({ wire, outcome, days, isSubmitted, isSettled, isReturned }),
    submission: isSubmitted
      ? wire
        ? { input_message_accountability_data: trace }
        : { trace_number: trace }
      : null,
    ...(wire
      ? { reversal: isReturned ? returned : null }
      : { settlement: isSettled ? { settled_at: 'settled' } : null }),
    ...(!wire && { return: isReturned ? returned : null }),
  }
}

function statusOf(facts: {
  wire: boolean
  outcome: TransferFate
  days: number
  isSubmitted: boolean
  isSettled: boolean
  isReturned: boolean
}): string {
  const { wire, outcome } = facts
  if (outcome === 'stuck') return 'requires_attention'
  if (outcome === 'rejected') return facts.days >= 0.05 ? 'rejected' : 'pending_reviewing'
  if (facts.isReturned) return wire ? 'reversed' : 'returned'
  if (wire) return facts.isSettled ? 'complete' : 'pending_creating'
  return facts.isSubmitted ? 'submitted' : 'pending_submission'
}

function failure(status: number, type: string, more: object = {}): SimulatedReply {
  return { status, json: { type, title: type, detail: null, status, ...more } }
}
