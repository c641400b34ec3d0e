import { sql } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'

/** Gives the user the address, unless the user has one already. Returns the user's address. */
export async function claimAddress(db: Db, claim: { userId: number; address: Hex }): Promise<Hex> {
  const { rows } = await sql<{ address: Hex }>`
    update users set address = coalesce(address, ${claim.address}) where id = ${claim.userId}
    returning address`.execute(db)
  const [row] = rows
  if (!row) throw new NoSuchUserError(claim.userId)
  return row.address
}

export async function findUserIdByAddress(db: Db, address: Hex): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select id from users where address = ${address}`.execute(db)
  return rows[0]?.id
}

/** Those for whom something is on its way, as far as it is paid from their own address. */
export async function listUsersWithOpenNonces(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from users
    where address in (select signer from lane_nonces where state = 'open') order by id`.execute(db)
  return rows.map(({ id }) => id)
}

class NoSuchUserError extends BaseError {
  constructor(userId: number) {
    super(`There is no user ${userId}.`, { code: 'user_missing', details: { userId } })
  }
}
