import { sql } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import type { Db } from '../database/database.ts'
import { leasing, type Due } from '../database/leases.ts'
import { columnsOf, given, readAll, readOne } from '../database/rows.ts'

export type WirePurpose = 'payment' | 'redeem' | 'transfer'

export type WireMethod = 'wire' | 'ach'

/**
 * `accepted`: the bank has it. `paid`: it has left for good, unless the other bank sends it back.
 * `returned`: it came back. `rejected`: the bank refused it, and no money moved.
 */
export type WireState = 'ordered' | 'accepted' | 'paid' | 'returned' | 'rejected'

export type Beneficiary = {
  name: string
  addressLine1?: string | undefined
  accountNumber?: string | undefined
  routingNumber?: string | undefined
}

export type WireOrder = {
  userId: number
  purpose: WirePurpose
  /** The public id of what is paid by it: there is one wire for a purpose and a subject. */
  subject: string
  /** Absent: a wire rather than a transfer through the clearing house. */
  method?: WireMethod
  /** The name of the bank that sends it; absent for the usual one. */
  bank?: string | undefined
  /** In cents. */
  amountMinor: bigint
  currency: 'USD'
  beneficiary: Beneficiary
}

export type Wire = WireOrder & {
  id: bigint
  method: WireMethod
  state: WireState
  /** The bank's name for it. */
  bankId: string | undefined
  /** What the beneficiary's bank can find it by. */
  reference: string | undefined
  /** Why it was rejected or returned. */
  code: string | undefined
  paidAt: Date | undefined
  tries: number
}

/** A wire in the hands of one worker, until the lease ends. */
export type LeasedWire = Wire & { lease: number }

const WIRE = columnsOf<LeasedWire>()(`id, user_id, purpose, subject, method, amount_minor, currency,
  beneficiary_name as beneficiary.name, address_line1 as beneficiary.addressLine1,
  account_number as beneficiary.accountNumber, routing_number as beneficiary.routingNumber, bank,
  state, bank_id, reference, code, paid_at, lease, tries`)

/**
 * Orders a wire in the transaction of the caller; the rail sends it after the commit. Asking twice
 * for one subject is one wire, and asking for another amount or beneficiary is refused.
 */
export async function orderWire(db: Db, order: WireOrder): Promise<{ id: bigint }> {
  const { beneficiary } = order
  const { rows } = await sql<{ id: bigint }>`
    insert into wires (user_id, purpose, subject, method, amount_minor, currency,
      beneficiary_name, address_line1, account_number, routing_number, bank)
    values (${order.userId}, ${order.purpose}, ${order.subject}, ${order.method ?? 'wire'},
      ${order.amountMinor}, ${order.currency}, ${beneficiary.name},
      ${beneficiary.addressLine1 ?? null}, ${beneficiary.accountNumber ?? null},
      ${beneficiary.routingNumber ?? null}, ${order.bank ?? null})
    on conflict (purpose, subject) do nothing
    returning id`.execute(db)
  if (rows[0]) return rows[0]
  const earlier = await findWire(db, order)
  if (earlier === undefined || !isSame(earlier, order)) throw new WireDiffersError(order)
  return { id: earlier.id }
}

export async function findWire(
  db: Db,
  wanted: { purpose: WirePurpose; subject: string },
): Promise<Wire | undefined> {
  return readOne<Wire>(db)`
    select ${WIRE} from wires
    where purpose = ${wanted.purpose} and subject = ${wanted.subject}`
}

export async function leaseWires(db: Db, due: Due): Promise<LeasedWire[]> {
  return readAll<LeasedWire>(db)`${leasing('wires', due, WIRE)}`
}

/** What has become of a wire, and of what it is for. */
export type WireProgress = {
  purpose: WirePurpose
  subject: string
  state: Exclude<WireState, 'ordered'>
  reference: string | undefined
  code: string | undefined
}

export type WireStep = {
  from: WireState
  to: WireState
  bankId?: string | undefined
  reference?: string | undefined
  code?: string | undefined
  now: Date
}

/** One step on, guarded by the old state and the lease; false where somebody else has it now. */
export async function moveWire(
  db: Db,
  leased: Pick<LeasedWire, 'id' | 'lease'>,
  move: WireStep,
): Promise<boolean> {
  const { rows } = await sql`
    update wires set state = ${move.to}, bank_id = coalesce(bank_id, ${move.bankId ?? null}),
      reference = coalesce(${move.reference ?? null}, reference), code = ${move.code ?? null},
      paid_at = case when ${move.to} = 'paid' then ${move.now} else paid_at end, tries = 0
    where id = ${leased.id} and lease = ${leased.lease} and state = ${move.from}
    returning id`.execute(db)
  return rows.length > 0
}

export type WireRelease = {
  wire: Pick<LeasedWire, 'id' | 'lease'>
  /** Undefined: it is laid aside for good. */
  dueAt: Date | undefined
  trouble: string | undefined
}

/** Lays them aside until then, with what went wrong, if anything did. */
export async function releaseWires(db: Db, releases: readonly WireRelease[]): Promise<void> {
  const wanted = releases.map(({ wire, dueAt, trouble }) => ({
    wire_id: String(wire.id),
    held: wire.lease,
    next: dueAt ?? null,
    word: trouble ?? null,
  }))
  await sql`
    update wires set due_at = next, trouble = word
    from ${given(wanted)`
      wire_id bigint, held integer, next timestamptz, word text
    `} as row
    where id = wire_id and lease = held`.execute(db)
}

function isSame(wire: Wire, order: WireOrder): boolean {
  const fields = ['name', 'addressLine1', 'accountNumber', 'routingNumber'] as const
  return (
    wire.userId === order.userId &&
    wire.amountMinor === order.amountMinor &&
    wire.currency === order.currency &&
    wire.method === (order.method ?? 'wire') &&
    fields.every((field) => wire.beneficiary[field] === order.beneficiary[field])
  )
}

class WireDiffersError extends BaseError {
  constructor(order: Pick<WireOrder, 'purpose' | 'subject'>) {
    super(
      `There is another wire for the ${order.purpose} ${order.subject}. ` +
        'A subject is paid once. Read the wire that exists.',
      { code: 'wire_differs', details: { purpose: order.purpose, subject: order.subject } },
    )
  }
}

export async function insertTransfer(
  db: Db,
  transfer: { transactionId: string; transferId: string },
): Promise<void> {
  await sql`
    insert into bank_transfers (transaction_id, transfer_id)
    values (${transfer.transactionId}, ${transfer.transferId})`.execute(db)
}

/** The public id of a transfer, or undefined where the transaction is not a transfer. */
export async function findTransferId(db: Db, transactionId: string): Promise<string | undefined> {
  const { rows } = await sql<{ transferId: string }>`
    select transfer_id as "transferId" from bank_transfers
    where transaction_id = ${transactionId}`.execute(db)
  return rows[0]?.transferId
}
