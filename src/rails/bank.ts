import { createHash } from 'node:crypto'

import { partyOf, type RailsConfig } from '../base/rails-config.ts'
import { INSTITUTION_TERMS, type Institution } from '../domain/gateways.ts'
import type { Beneficiary, WireMethod } from '../store/rails/wires.ts'
import {
  askForJson,
  codeFrom,
  objectAt,
  objectsAt,
  RailError,
  requireSame,
  textAt,
  type Fields,
} from './reply.ts'

/** A transfer that a bank is to send, once. */
export type BankOrder = {
  /** Names the transfer at the bank. The same transfer has the same key forever. */
  key: string
  /** The id of the payment or the transfer, for the statement of the beneficiary. */
  subject: string
  /** By wire, or through the clearing house. */
  method: WireMethod
  /** In cents. */
  amountMinor: bigint
  currency: 'USD'
  /** Without account numbers, it is the account that the bank keeps on file for the name. */
  beneficiary: Beneficiary
}

/** What the bank says of a transfer, in our words. */
export type BankTransfer = {
  /** The bank's own id of the transfer. It never changes. */
  bankId: string
  /**
   * `accepted`: the bank has it. `paid`: it has left for good, unless the other bank returns it.
   * `returned`: it came back. `rejected`: no money moved.
   */
  state: 'accepted' | 'paid' | 'returned' | 'rejected'
  /** What the beneficiary's bank can find it by. */
  reference?: string | undefined
  /** Why it was returned or rejected. */
  code?: string | undefined
}

/** A bank that sends wires and transfers through the clearing house. It rejects with RailError. */
export type Bank = {
  /** Sent twice it is still one transfer: the bank knows it by the key. */
  send: (order: BankOrder, signal: AbortSignal) => Promise<BankTransfer>
  /** By the key; undefined where the bank has never heard of it. */
  find: (order: BankOrder, signal: AbortSignal) => Promise<BankTransfer | undefined>
  /** By the bank's own id. */
  read: (order: BankOrder & { bankId: string }, signal: AbortSignal) => Promise<BankTransfer>
}

export type BankSettings = { url: string; key: string; accountId: string; timeoutMs?: number }

/**
 * Speaks the API of Increase (`/wire_transfers`, `/ach_transfers`). A reply counts only where
 * account, amount and message id are those that were asked for.
 */
export function createBank(settings: BankSettings): Bank {
  const call = async (
    path: string,
    options: { json?: object; key?: string; signal: AbortSignal },
  ) =>
    askForJson({
      url: settings.url.replace(/\/$/, '') + path,
      headers: {
        authorization: `Bearer ${settings.key}`,
        ...(options.key !== undefined && { 'idempotency-key': options.key }),
      },
      ...(options.json && { json: options.json }),
      ...(settings.timeoutMs !== undefined && { timeoutMs: settings.timeoutMs }),
      signal: options.signal,
    })
  const bank: Bank = {
    async send(order, signal) {
      const payee = await payeeOf(order.beneficiary, async (path) => call(path, { signal }))
      const json = { ...bodyOf(order, settings.accountId), ...payee }
      const { key } = order
      const reply = await call(PATHS[order.method], { json, key, signal })
      if (reply.status === 200 || reply.status === 201) return read(reply.body, order, settings)
      throw refusalOf(reply)
    },
    async find(order, signal) {
      const query = `?idempotency_key=${encodeURIComponent(order.key)}`
      const reply = await call(PATHS[order.method] + query, { signal })
      if (reply.status !== 200 || !Array.isArray(reply.body['data'])) {
        throw new RailError('rail_unknown', `status_${reply.status}`)
      }
      const [found] = objectsAt(reply.body, 'data')
      return found && read(found, order, settings)
    },
    async read(order, signal) {
      const path = `${PATHS[order.method]}/${encodeURIComponent(order.bankId)}`
      const { status, body } = await call(path, { signal })
      // The bank has named it before, so it cannot be that there is no such transfer.
      if (status !== 200) throw new RailError('rail_unknown', `status_${status}`)
      requireSame(body, 'id', order.bankId)
      return read(body, order, settings)
    },
  }
  return bank
}

const PATHS: Record<WireMethod, string> = { wire: '/wire_transfers', ach: '/ach_transfers' }

function bodyOf(order: BankOrder, accountId: string): object {
  const { beneficiary, subject, method } = order
  // A double holds every whole number of cents up to ninety trillion dollars.
  const common = { account_id: accountId, amount: Number(order.amountMinor) }
  if (method === 'ach') {
    return {
      ...common,
      statement_descriptor: subject,
      individual_id: subject.slice(0, 15),
      individual_name: beneficiary.name.slice(0, 22),
    }
  }
  const { addressLine1 } = beneficiary
  return {
    ...common,
    creditor: {
      name: beneficiary.name,
      ...(addressLine1 && { address: { unstructured: { line1: addressLine1 } } }),
    },
    remittance: { category: 'unstructured', unstructured: { message: subject } },
  }
}

/**
 * Where the money goes: an account, or the account that the bank keeps on file for this name and
 * address. Anyone with access to the bank registers it under the key of the beneficiary.
 */
async function payeeOf(
  beneficiary: Beneficiary,
  ask: (path: string) => Promise<{ status: number; body: Fields }>,
): Promise<object> {
  const { accountNumber, routingNumber } = beneficiary
  if (accountNumber !== undefined && routingNumber !== undefined) {
    return { account_number: accountNumber, routing_number: routingNumber }
  }
  const key = beneficiaryKey(beneficiary)
  const reply = await ask(`/external_accounts?idempotency_key=${key}`)
  if (reply.status !== 200 || !Array.isArray(reply.body['data'])) throw refusalOf(reply)
  const id = textAt(objectsAt(reply.body, 'data')[0], 'id')
  if (id === undefined) throw new RailError('rail_refused', 'beneficiary_unknown')
  return { external_account_id: id }
}

/** Names a beneficiary without account numbers to the bank. */
export function beneficiaryKey({ name, addressLine1 = '' }: Beneficiary): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([name, addressLine1]))
    .digest('hex')
  return `quittance-beneficiary-${digest}`
}

function read(body: Fields, order: BankOrder, settings: BankSettings): BankTransfer {
  requireSame(body, 'type', `${order.method}_transfer`)
  requireSame(body, 'account_id', settings.accountId)
  requireSame(body, 'amount', Number(order.amountMinor))
  requireSame(body, 'currency', 'USD')
  requireSame(body, 'idempotency_key', order.key)
  const bankId = textAt(body, 'id')
  if (bankId === undefined) throw new RailError('rail_reply_wrong', 'id')
  const status = textAt(body, 'status') ?? ''
  const state = stateOf(status, body)
  if (state === undefined) throw new RailError('rail_reply_wrong', 'status')
  const submission = objectAt(body, 'submission')
  return {
    bankId,
    state,
    reference:
      textAt(submission, 'trace_number') ?? textAt(submission, 'input_message_accountability_data'),
    code: state === 'returned' || state === 'rejected' ? reasonOf(status, body) : undefined,
  }
}

function stateOf(status: string, body: Fields): BankTransfer['state'] | undefined {
  // A transfer through the clearing house has arrived when it has settled there.
  if (status === 'submitted' && objectAt(body, 'settlement') !== undefined) return 'paid'
  return STATES[status]
}

const STATES: Readonly<Record<string, BankTransfer['state']>> = {
  pending_approval: 'accepted',
  pending_transfer_session_confirmation: 'accepted',
  pending_reviewing: 'accepted',
  pending_submission: 'accepted',
  pending_creating: 'accepted',
  requires_attention: 'accepted',
  submitted: 'accepted',
  complete: 'paid',
  returned: 'returned',
  reversed: 'returned',
  rejected: 'rejected',
  canceled: 'rejected',
}

function reasonOf(status: string, body: Fields): string {
  const reason =
    textAt(objectAt(body, 'return'), 'return_reason_code') ??
    textAt(objectAt(body, 'reversal'), 'return_reason_code')
  return codeFrom(reason, status)
}

/** Only an error in the bank's own form is a refusal; a page from a proxy is not. */
function refusalOf(reply: { status: number; body: Fields }): RailError {
  const type = textAt(reply.body, 'type')
  return type !== undefined && REFUSALS.has(type) && reply.body['status'] === reply.status
    ? new RailError('rail_refused', codeFrom(type.replace(/_error$/, ''), 'refused'))
    : new RailError('rail_unknown', `status_${reply.status}`)
}

const REFUSALS: ReadonlySet<string> = new Set([
  'invalid_parameters_error',
  'invalid_operation_error',
  'malformed_request_error',
  'object_not_found_error',
])

/** The institutions that are connected to a bank, with those of banks that a program brings. */
export function institutionsOf(
  parties: Pick<RailsConfig, 'institutions' | 'usual' | 'named'>,
  own: ReadonlyArray<{ name: string; institutions: readonly InstitutionOfBank[] }> = [],
): Institution[] {
  const configured = parties.institutions
    .filter(({ party: name }) => partyOf(parties, { kind: 'bank', name }))
    .map(({ id, kind, party: bank }) => ({ id, kind, bank }))
  const brought = own.flatMap(({ name: bank, institutions }) =>
    institutions.map(({ id, kind }) => ({ id, kind, bank })),
  )
  return [...configured, ...brought]
    .map((one) => ({ ...one, ...INSTITUTION_TERMS[one.kind] }))
    .toSorted((a, b) => a.id - b.id)
}

type InstitutionOfBank = Pick<Institution, 'id' | 'kind'>
