import { sql } from 'kysely'

import type { Db } from '../database/database.ts'

export async function insertTransfer(
  db: Db,
  transfer: { transactionId: string; transferId: string },
): Promise<void> {
  await sql`
    insert into bank_transfers (transaction_id, transfer_id)
    values (${transfer.transactionId}, ${transfer.transferId})`.execute(db)
}

/** The public id of a transfer, undefined where the transaction is none. */
export async function findTransferId(db: Db, transactionId: string): Promise<string | undefined> {
  const { rows } = await sql<{ transferId: string }>`
    select transfer_id as "transferId" from bank_transfers
    where transaction_id = ${transactionId}`.execute(db)
  return rows[0]?.transferId
}
