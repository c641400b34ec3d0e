import { readdirSync, readFileSync } from 'node:fs'

import { Client } from 'pg'

import { cpuTimeOf, cpuTimeOfProcess } from './cpu.ts'

/** What a number of payments has used, for each of them. */
export type Cost = {
  cpuMs: Readonly<Record<string, number>>
  /** Each is a round trip. Undefined where the server does not count them, or is embedded. */
  statements: number | undefined
  /** What triggers and functions ran beneath them. */
  nestedStatements: number | undefined
  rowsWritten: number | undefined
  walBytes: number | undefined
}

/** Processes by what they are called in the figures. */
export type Parts = Readonly<Record<string, readonly number[]>>

/**
 * Counts what is used from now on. Statements are counted by pg_stat_statements, which the server
 * has to load (`shared_preload_libraries`) and to track in functions (`pg_stat_statements.track`).
 */
export async function countCost(
  parts: Parts,
  databaseUrl: string | undefined,
): Promise<{ end: (count: number) => Promise<Cost> }> {
  const server = databaseUrl === undefined ? undefined : await openServer(databaseUrl)
  const count = async (): Promise<Counts> => {
    // The server adds up what its sessions did once a second.
    if (server) await new Promise((later) => setTimeout(later, 1500))
    return { cpu: { ...cpuOf(parts), ...server?.cpu() }, ...(await server?.counts()) }
  }
  const before = await count()
  return {
    async end(payments) {
      const after = await count()
      await server?.close()
      const each = (of: (counts: Counts) => number | undefined): number | undefined => {
        const [now, then] = [of(after), of(before)]
        return now === undefined || then === undefined
          ? undefined
          : rounded((now - then) / payments)
      }
      const cpuMs: Record<string, number> = {}
      for (const part of Object.keys(after.cpu)) cpuMs[part] = each(({ cpu }) => cpu[part]) ?? 0
      return {
        cpuMs,
        statements: each(({ statements }) => statements),
        nestedStatements: each(({ nestedStatements }) => nestedStatements),
        rowsWritten: each(({ rowsWritten }) => rowsWritten),
        walBytes: each(({ walBytes }) => walBytes),
      }
    },
  }
}

type Counts = Partial<Omit<Cost, 'cpuMs'>> & { cpu: Readonly<Record<string, number>> }

type Server = {
  cpu: () => { postgresql: number }
  counts: () => Promise<Omit<Counts, 'cpu'>>
  close: () => Promise<void>
}

async function openServer(url: string): Promise<Server> {
  const client = new Client({ connectionString: url })
  // A bench that fails drops the database, and must tell of its own failure.
  client.on('error', () => undefined)
  await client.connect()
  const number = async (query: string): Promise<number | undefined> => {
    const { rows } = await client.query<{ value: string }>(query)
    return rows[0] && Number(rows[0].value)
  }
  const postmaster = await postmasterOf(client)
  // It can be created, and not be read, where the server has not loaded it.
  const counts = await client
    .query('create extension if not exists pg_stat_statements')
    .then(() => client.query('select from pg_stat_statements limit 1'))
    .then(
      () => true,
      () => false,
    )
  const statements = (which: string) =>
    number(`select sum(calls) as value from pg_stat_statements
      where ${which} and dbid = (select oid from pg_database where datname = current_database())`)
  return {
    cpu: () => ({ postgresql: cpuOfTree(postmaster) }),
    async counts() {
      return {
        ...(counts && {
          statements: await statements('toplevel'),
          nestedStatements: await statements('not toplevel'),
        }),
        rowsWritten: await number(`select tup_inserted + tup_updated + tup_deleted as value
          from pg_stat_database where datname = current_database()`),
        walBytes: await number(`select pg_current_wal_lsn() - '0/0' as value`),
      }
    },
    close: () => client.end(),
  }
}

/**
 * Processor time of work, in milliseconds: of this process, and of the server where there is one,
 * as the embedded database is in the process too.
 */
export async function createCpuTimer(
  server: string | undefined,
): Promise<(work: () => Promise<unknown>) => Promise<number>> {
  if (server === undefined) return cpuTimeOf
  const client = new Client({ connectionString: server })
  await client.connect()
  const postmaster = await postmasterOf(client)
  await client.end()
  return async (work) => {
    const before = timesOfChildren(postmaster)
    const own = await cpuTimeOf(work)
    const after = timesOfChildren(postmaster)
    return [...after].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), own)
  }
}

async function postmasterOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return parentOf(rows[0]?.pid ?? 0)
}

/** In milliseconds, more exactly than the hundredths of a second of `stat`. */
function timesOfChildren(root: number): Map<number, number> {
  const children = processes().filter((pid) => parentOf(pid) === root)
  return new Map(
    children.flatMap((pid): Array<[number, number]> => {
      const [nanoseconds] = fileOf(pid, 'schedstat').split(' ')
      return nanoseconds ? [[pid, Number(nanoseconds) / 1e6]] : []
    }),
  )
}

function cpuOf(parts: Parts): Record<string, number> {
  return Object.fromEntries(
    Object.entries(parts).map(([part, pids]) => [
      part,
      pids.reduce((sum, pid) => sum + cpuTimeOfProcess(pid), 0),
    ]),
  )
}

/** Of a process, of its children, and of those that it has had. */
function cpuOfTree(root: number): number {
  const children = processes().filter((pid) => parentOf(pid) === root)
  const ticks = [
    ...statOf(root).slice(13, 15),
    ...[root, ...children].flatMap((pid) => statOf(pid).slice(11, 13)),
  ]
  return ticks.reduce((sum, one) => sum + Number(one), 0) * 10
}

function processes(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
}

function parentOf(pid: number): number {
  return Number(statOf(pid)[1] ?? 0)
}

/** What follows the name of a process. */
function statOf(pid: number): string[] {
  return fileOf(pid, 'stat').split(') ').at(-1)?.split(' ') ?? []
}

/** Empty when the process has ended meanwhile. */
function fileOf(pid: number, name: 'stat' | 'schedstat'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
