import type { RecipientAddress } from '../../domain/ledger.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'

const RECIPIENT = columnsOf<RecipientAddress>()(
  'id, seq, user_id, chain, address, currency, description, created_at',
)

export async function insertRecipient(
  db: Db,
  recipient: Omit<RecipientAddress, 'id' | 'seq' | 'createdAt'>,
): Promise<RecipientAddress> {
  const { userId, chain, address, currency, description } = recipient
  return (await readOne<RecipientAddress>(db)`
    insert into recipient_addresses (user_id, chain, address, currency, description)
    values (${userId}, ${chain}, ${address}, ${currency}, ${description})
    returning ${RECIPIENT}`)!
}

/** Only the user's own. */
export async function findRecipient(
  db: Db,
  wanted: { userId: number; id: string },
): Promise<RecipientAddress | undefined> {
  return readOne<RecipientAddress>(db)`
    select ${RECIPIENT} from recipient_addresses
    where user_id = ${wanted.userId} and id = ${wanted.id}`
}

export async function listRecipients(
  db: Db,
  userId: number,
  page: Page,
): Promise<RecipientAddress[]> {
  const recipients = await readAll<RecipientAddress>(db)`
    select ${RECIPIENT} from recipient_addresses where user_id = ${userId} ${pageOf(page)}`
  return inOrder(recipients, page)
}
