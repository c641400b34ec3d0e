import { sql } from 'kysely'

import type {
  LedgerAmount,
  LedgerCurrency,
  Payment,
  PaymentStatus,
  WireDestination,
} from '../../domain/ledger.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'

export type NewPayment = LedgerAmount &
  Pick<Payment, 'userId' | 'walletId' | 'beneficiaryEmail'> & {
    destination: WireDestination & { addressLine1: string }
  }

export async function insertPayment(db: Db, payment: NewPayment): Promise<Payment> {
  const { userId, walletId, amount, currency, destination } = payment
  const { rows } = await sql<PaymentRow>`
    insert into payments (user_id, wallet_id, currency, amount, beneficiary_name, address_line1,
      account_number, routing_number, destination_id, beneficiary_email)
    values (${userId}, ${walletId}, ${currency}, ${String(amount)}::numeric, ${destination.name},
      ${destination.addressLine1}, ${destination.accountNumber ?? null},
      ${destination.routingNumber ?? null}, ${destination.id ?? null},
      ${payment.beneficiaryEmail ?? null})
    returning *`.execute(db)
  return paymentOf(rows[0]!)
}

/** Only the user's own. */
export async function findPayment(
  db: Db,
  wanted: { userId: number; id: string },
): Promise<Payment | undefined> {
  const { rows } = await sql<PaymentRow>`
    select * from payments where user_id = ${wanted.userId} and id = ${wanted.id}`.execute(db)
  return rows[0] && paymentOf(rows[0])
}

export async function listPayments(
  db: Db,
  wanted: { userId: number; status?: PaymentStatus | undefined },
  page: Page,
): Promise<Payment[]> {
  const { userId, status } = wanted
  const { rows } = await sql<PaymentRow>`
    select * from payments where user_id = ${userId}
      ${status === undefined ? sql`` : sql`and status = ${status}`}
      ${pageOf(page)}`.execute(db)
  return inOrder(rows, page).map(paymentOf)
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
  const { rows } = await sql<PaymentRow>`
    update payments set status = ${move.to}, updated_at = greatest(updated_at, now()),
      tracking_ref = coalesce(${move.trackingRef ?? null}, tracking_ref),
      error_code = coalesce(${move.errorCode ?? null}, error_code)
    where id = ${move.id} and status = any (${move.from})
    returning *`.execute(db)
  return rows[0] && paymentOf(rows[0])
}

type PaymentRow = {
  id: string
  seq: bigint
  user_id: number
  wallet_id: bigint
  currency: LedgerCurrency
  amount: string
  beneficiary_name: string
  address_line1: string
  account_number: string | null
  routing_number: string | null
  destination_id: string | null
  beneficiary_email: string | null
  status: PaymentStatus
  tracking_ref: string | null
  error_code: string | null
  created_at: Date
  updated_at: Date
}

function paymentOf(row: PaymentRow): Payment {
  return {
    id: row.id,
    seq: row.seq,
    userId: row.user_id,
    walletId: row.wallet_id,
    amount: BigInt(row.amount),
    currency: row.currency,
    destination: {
      name: row.beneficiary_name,
      addressLine1: row.address_line1,
      accountNumber: row.account_number ?? undefined,
      routingNumber: row.routing_number ?? undefined,
      id: row.destination_id ?? undefined,
    },
    beneficiaryEmail: row.beneficiary_email ?? undefined,
    status: row.status,
    trackingRef: row.tracking_ref ?? undefined,
    errorCode: row.error_code ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
