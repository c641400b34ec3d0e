import { sql, type RawBuilder } from 'kysely'

import { BaseError, databaseFactsOf } from '../../base/errors.ts'
import type { ChainNames } from '../../domain/chains.ts'
import type { Db } from './database.ts'
import { columnsOf, readAll } from './rows.ts'

const CHAIN = columnsOf<ChainNames>()('chain_id::float8, name, code, coin')

/** Keeps what the chain is called; refuses a name or a code that stands for another one. */
export async function recordChain(db: Db, chain: ChainNames): Promise<void> {
  try {
    // Another process may record the same chain at this moment, and take its name first.
    await write(db, chain).catch((error: unknown) => {
      if (!isTaken(error)) throw error
      return write(db, chain)
    })
  } catch (error) {
    if (isTaken(error)) throw new NameTakenError(chain, error)
    throw error
  }
}

async function write(db: Db, { chainId, name, code, coin }: ChainNames): Promise<void> {
  await sql`
    insert into chains (chain_id, name, code, coin)
      values (${chainId}, ${name}, ${code}, ${coin})
    on conflict (chain_id) do update
      set name = excluded.name, code = excluded.code, coin = excluded.coin
      where (chains.name, chains.code, chains.coin)
        is distinct from (excluded.name, excluded.code, excluded.coin)`.execute(db)
}

function isTaken(error: unknown): boolean {
  return databaseFactsOf(error)?.code === UNIQUE_VIOLATION
}

const UNIQUE_VIOLATION = '23505'

/** All that the database knows. */
export async function listChains(db: Db): Promise<ChainNames[]> {
  return readAll<ChainNames>(db)`select ${CHAIN} from chains order by name`
}

/** What gas is paid in there. */
export async function readCoin(db: Db, chainId: number): Promise<string> {
  const [found] = await readAll<{ coin: string }>(db)`
    select coin from chains where chain_id = ${chainId}`
  return found?.coin ?? UNKNOWN_COIN
}

/** Those that the database knows, and of which orders are still on their way. */
export async function listUnsettledChains(db: Db): Promise<ChainNames[]> {
  return readAll<ChainNames>(db)`
    select ${CHAIN} from chains where exists (
      select from orders where orders.chain_id = chains.chain_id and state in ('accepted', 'mined')
    ) order by name`
}

/**
 * The name of the chain in a column, which is given with its table; of one that has no name, its
 * id. A function would begin a statement of its own for each row.
 */
export function chainName(column: `${string}.chain_id`): RawBuilder<string> {
  const id = sql.ref(column)
  return sql`coalesce((select name from chains where chains.chain_id = ${id}), ${id}::text)`
}

/** What gas is paid in there; ether on a chain that is not known any more. */
export function chainCoin(column: `${string}.chain_id`): RawBuilder<string> {
  const coin = sql`select coin from chains where chains.chain_id = ${sql.ref(column)}`
  return sql`coalesce((${coin}), ${sql.lit(UNKNOWN_COIN)})`
}

const UNKNOWN_COIN = 'ETH'

class NameTakenError extends BaseError {
  constructor({ chainId, name, code }: ChainNames, cause: unknown) {
    super(
      `The name ${name} or the code ${code} belongs to another chain than ${chainId} in this ` +
        'database. Give the chain another name and code in QUITTANCE_CHAINS.',
      { code: 'wrong_chain', details: { chainId, name, code }, cause },
    )
  }
}
