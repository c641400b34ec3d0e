import { useState } from 'preact/hooks'

import type { KeyWire } from '../../wire/group-b/users.ts'
import { useLoaded } from '../context.ts'
import { FORWARD, Paging } from './paging.tsx'

type Scope = KeyWire['scopes'][number]

/** All of them, by the compiler's word; the schemas themselves are too large for a page. */
const SCOPES = Object.keys({
  'transactions:read': true,
  'transactions:write': true,
  'payments:read': true,
  'payments:write': true,
  'transfers:read': true,
  'transfers:write': true,
  'blockchain:read': true,
  'blockchain:write': true,
  'wallets:read': true,
  'wallets:write': true,
  'mint:read': true,
  'mint:write': true,
  'notifications:read': true,
  'notifications:write': true,
  admin: true,
} satisfies Record<Scope, true>)

const LETS_READ = 2

/** The keys or the users of all, and the one that a dialog is about, if not a new one. */
export function useAccessList<List extends { next_after_id: number | null }, Row>(
  what: 'keys' | 'users',
) {
  const [afterId, setAfterId] = useState<number>()
  const list = useLoaded(`${what} ${afterId}`, (api, signal) =>
    api.get<List>(`/api/admin/${what}`, { signal, query: { after_id: afterId, limit: 50 } }),
  )
  const [open, setOpen] = useState<'add' | Row>()
  const close = (): void => {
    setOpen(undefined)
    list.reload()
  }
  const next = list.data?.next_after_id
  const paging = <Paging cursor={afterId} next={next} onGo={setAfterId} words={FORWARD} />
  return { list, paging, open, setOpen, close }
}

/** What one may do, in few words where that is everything. */
export function Scopes({ scopes }: { scopes: readonly string[] }) {
  if (scopes.includes('admin')) return <span>Everything</span>
  // A scope to write includes the one to read.
  const isAll = SCOPES.every((scope) => !scope.endsWith('write') || scopes.includes(scope))
  if (isAll) return <span>Everything except administration</span>
  return <span class="wraps">{scopes.join(', ')}</span>
}

export function ScopeFields() {
  return (
    <fieldset>
      <legend>May</legend>
      <div class="scopes">
        {SCOPES.map((scope) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name="scope"
              value={scope}
              defaultChecked={SCOPES.indexOf(scope) < LETS_READ}
            />
            {scope}
          </label>
        ))}
      </div>
    </fieldset>
  )
}

export function scopesOf(fields: FormData): string[] {
  return fields.getAll('scope').map(String)
}
