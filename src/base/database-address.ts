/** Where a PostgreSQL server is, or several of which one is the primary. */
export type DatabaseAddress = {
  /** One address for each host, alike in everything else. */
  hosts: [URL, ...URL[]]
  /** Whether a server that only reads has to be left for another one. */
  needsPrimary: boolean
  /** Whether PgBouncer is in front of the server. It keeps no session for us. */
  isPooled: boolean
}

/**
 * Reads an address as PostgreSQL's own programs do, with several hosts between commas:
 * `postgres://user@one:5432,two:5432/database?target_session_attrs=read-write`. What only we
 * understand is `pgbouncer=true`. Undefined where it is not one, or asks for a server that cannot
 * write.
 */
export function parseDatabaseAddress(text: string): DatabaseAddress | undefined {
  const [, scheme, authority, rest] = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/.exec(text) ?? []
  if (scheme === undefined || authority === undefined || rest === undefined) return undefined
  const end = authority.lastIndexOf('@') + 1
  const addresses = authority
    .slice(end)
    .split(',')
    .map((host) => URL.parse(`${scheme}${authority.slice(0, end)}${host}${rest}`))
  const wanted = addresses[0]?.searchParams.get(SESSION) ?? 'any'
  const pooled = addresses[0]?.searchParams.get(POOLED) ?? 'false'
  if (addresses.includes(null) || !WRITABLE.has(wanted)) return undefined
  if (!['true', 'false'].includes(pooled)) return undefined
  const hosts = addresses as DatabaseAddress['hosts']
  for (const { searchParams } of hosts) {
    for (const name of [SESSION, POOLED]) searchParams.delete(name)
  }
  const needsPrimary = hosts.length > 1 || wanted !== 'any'
  return { hosts, needsPrimary, isPooled: pooled === 'true' }
}

/** The part of an address that may be shown: neither user nor password. */
export function nameOfDatabase(text: string): string {
  const { hosts } = parseDatabaseAddress(text) ?? { hosts: [] }
  const names = hosts.map(({ hostname, port }) => `${hostname}:${port || 5432}`)
  return `${names.join(', ')}${hosts[0]?.pathname ?? ''}`
}

const SESSION = 'target_session_attrs'
const POOLED = 'pgbouncer'
const WRITABLE: ReadonlySet<string> = new Set(['any', 'read-write', 'primary'])
