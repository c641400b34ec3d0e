import { SCOPES } from '../../wire/group-b/users.ts'

const LETS_READ = 2

/** What one may do, in few words where that is everything. */
export function Scopes({ scopes }: { scopes: readonly string[] }) {
  if (scopes.includes('admin')) return <span>Everything</span>
  if (scopes.length >= SCOPES.length - 1) return <span>Everything but administer</span>
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
