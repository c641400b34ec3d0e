import { sql } from 'kysely'

import type { LedgerAmount, Payment, PaymentStatus, WireDestination } from '../../domain/ledger.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'

const PAYMENT = columnsOf<Payment>()(`id, seq, user_id, wallet_id, amount, currency,
  beneficiary_name as destination.name, address_line1 as destination.addressLine1,
  account_number as destination.accountNumber, routing_number as destination.routingNumber,
  destination_id as destination.id, beneficiary_email, status, tracking_ref, error_code, created_at,
  updated_at`)

export type NewPayment = LedgerAmount &
  Pick<Payment, 'userId' | 'walletId' | 'beneficiaryEmail'> & {
    destination: WireDestination & { addressLine1: string }
  }

export async function insertPayment(db: Db, payment: NewPayment): Promise<Payment> {
  const { userId, walletId, amount, currency, destination } = payment
  return (await readOne<Payment>(db)`
    insert into payments (user_id, wallet_id, currency, amount, beneficiary_name, address_line1,
      account_number, routing_number, destination_id, beneficiary_email)
    values (${userId}, ${walletId}, ${currency}, ${String(amount)}::numeric, ${destination.name},
      ${destination.addressLine1}, ${destination.accountNumber ?? null},
      ${destination.routingNumber ?? null}, ${destination.id ?? null},
      ${payment.beneficiaryEmail ?? null})
    returning ${PAYMENT}`)!
}

/** Only the user's own. */
export async function findPayment(
  db: Db,
  wanted: { userId: number; id: string },
): Promise<Payment | undefined> {
  return readOne<Payment>(db)`
    select ${PAYMENT} from payments where user_id = ${wanted.userId} and id = ${wanted.id}`
}

export async function listPayments(
  db: Db,
  wanted: { userId: number; status?: PaymentStatus | undefined },
  page: Page,
): Promise<Payment[]> {
  const { userId, status } = wanted
  const payments = await readAll<Payment>(db)`
    select ${PAYMENT} from payments where user_id = ${userId}
      ${status === undefined ? sql`` : sql`and status = ${status}`}
      ${pageOf(page)}`
  return inOrder(payments, page)
}

/** Undefined where it is in none of those states, and so has moved already. */
export async function movePayment(
  db: Db,
  move: {
    id: string
    from: readonly PaymentStatus[]
    to: PaymentStatus
    trackingRef?: string | undefined
    errorCode?: string | undefined
  },
): Promise<Payment | undefined> {
  return readOne<Payment>(db)`
    update payments set status = ${move.to}, updated_at = greatest(updated_at, now()),
      tracking_ref = coalesce(${move.trackingRef ?? null}, tracking_ref),
      error_code = coalesce(${move.errorCode ?? null}, error_code)
    where id = ${move.id} and status = any (${move.from})
    returning ${PAYMENT}`
}
