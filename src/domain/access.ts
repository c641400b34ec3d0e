/** What a credential may do: one area, to read or to write; `admin` may do everything. */
const AREAS = [
  'transactions',
  'payments',
  'transfers',
  'blockchain',
  'wallets',
  'mint',
  'notifications',
] as const

export type Area = (typeof AREAS)[number]
export type Scope = `${Area}:read` | `${Area}:write` | 'admin'

export const SCOPES: readonly Scope[] = [
  ...AREAS.flatMap((area) => [`${area}:read`, `${area}:write`] as const),
  'admin',
]

/**
 * How Group A writes amounts to a key: `"amount": "1.00"`, or `"amount": { "amount": "1.00",
 * "currency": "USD" }`.
 */
export type Dialect = 'flat' | 'nested'

/** Who makes a request, as the credential proved it. */
export type Caller = {
  userId: number
  username: string
  scopes: readonly Scope[]
  dialect: Dialect
  /** Names the credential for rate limits and idempotency: `key:17`, `user:3`. */
  credential: string
}

/** Writing includes reading. */
export function mayUse(caller: Pick<Caller, 'scopes'>, scope: Scope): boolean {
  if (caller.scopes.includes('admin') || caller.scopes.includes(scope)) return true
  return scope.endsWith(':read') && caller.scopes.includes(writing(scope))
}

/** The scopes that remain when one credential depends on another, as a key does on its user. */
export function commonScopes(first: readonly Scope[], second: readonly Scope[]): Scope[] {
  return SCOPES.filter(
    (scope) => mayUse({ scopes: first }, scope) && mayUse({ scopes: second }, scope),
  )
}

export function isScope(text: string): text is Scope {
  return SCOPES.some((scope) => scope === text)
}

function writing(scope: Scope): Scope {
  return scope.replace(':read', ':write') as Scope
}

/** How records name a user who did something, or whose limits count. */
export function actorOf({ userId }: { userId: number }): `user:${number}` {
  return `user:${userId}`
}
