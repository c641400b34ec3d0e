import { sql } from 'kysely'

import type { Db } from './database.ts'

/** What a PostgreSQL server says about itself. */
export type ServerFacts = {
  major: number
  isStandby: boolean
  hasSynchronousStandby: boolean
  now: Date
}

export async function readServerFacts(db: Db): Promise<ServerFacts> {
  const { rows } = await sql<{
    version: string
    standby: boolean
    synchronous: string
    now_ms: string
  }>`
    select current_setting('server_version_num') as version,
      pg_is_in_recovery() as standby,
      current_setting('synchronous_standby_names') as synchronous,
      (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now_ms`.execute(db)
  const { version = '0', standby = false, synchronous = '', now_ms: nowMs = '0' } = rows[0] ?? {}
  return {
    major: Math.floor(Number(version) / 10_000),
    isStandby: standby,
    hasSynchronousStandby: synchronous.trim() !== '',
    now: new Date(Number(nowMs)),
  }
}
