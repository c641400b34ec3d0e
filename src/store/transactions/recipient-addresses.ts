import { sql } from 'kysely'

import type { LedgerCurrency, RecipientAddress } from '../../domain/ledger.ts'
import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'

export async function insertRecipient(
  db: Db,
  recipient: Omit<RecipientAddress, 'id' | 'seq' | 'createdAt'>,
): Promise<RecipientAddress> {
  const { userId, chain, address, currency, description } = recipient
  const { rows } = await sql<RecipientRow>`
    insert into recipient_addresses (user_id, chain, address, currency, description)
    values (${userId}, ${chain}, ${address}, ${currency}, ${description})
    returning *`.execute(db)
  return recipientOf(rows[0]!)
}

/** Only the user's own. */
export async function findRecipient(
  db: Db,
  wanted: { userId: number; id: string },
): Promise<RecipientAddress | undefined> {
  const { rows } = await sql<RecipientRow>`
    select * from recipient_addresses
    where user_id = ${wanted.userId} and id = ${wanted.id}`.execute(db)
  return rows[0] && recipientOf(rows[0])
}

export async function listRecipients(
  db: Db,
  userId: number,
  page: Page,
): Promise<RecipientAddress[]> {
  const { rows } = await sql<RecipientRow>`
    select * from recipient_addresses where user_id = ${userId} ${pageOf(page)}`.execute(db)
  return inOrder(rows, page).map(recipientOf)
}

type RecipientRow = {
  id: string
  seq: bigint
  user_id: number
  chain: string
  address: Hex
  currency: LedgerCurrency
  description: string
  created_at: Date
}

function recipientOf(row: RecipientRow): RecipientAddress {
  return {
    id: row.id,
    seq: row.seq,
    userId: row.user_id,
    chain: row.chain,
    address: row.address,
    currency: row.currency,
    description: row.description,
    createdAt: row.created_at,
  }
}
