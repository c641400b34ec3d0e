import { useId, useState } from 'preact/hooks'

import type {
  KeyCreatedWire,
  KeyListWire,
  KeyWire,
  UserListWire,
} from '../../wire/group-b/users.ts'
import { ApiFailure } from '../api.ts'
import { useLoaded, usePlatform } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { userIdOf } from '../parts/names.tsx'
import { Badge, Copy, Dialog, Empty, Foreign, FormDialog, Heading, Time } from '../parts/parts.tsx'
import { ScopeFields, Scopes, scopesOf, useAccessList } from './access-parts.tsx'

export function KeysScreen() {
  const { list, paging, open, setOpen, close } = useAccessList<KeyListWire, KeyWire>('keys')
  const add = (
    <button type="button" class="primary" onClick={() => setOpen('add')}>
      Create a key
    </button>
  )
  return (
    <>
      <Heading aside={add}>API keys</Heading>
      <CardList
        of={list}
        what="keys"
        rows={list.data?.api_keys}
        keyOf={(key) => key.id}
        columns={columnsOf(setOpen)}
      >
        <Empty title="There are no keys">
          <p>Create one for a user. It is shown once.</p>
        </Empty>
      </CardList>
      {paging}
      {open === 'add' && <AddDialog onClose={close} />}
      {open !== undefined && open !== 'add' && <RevokeDialog apiKey={open} onClose={close} />}
    </>
  )
}

function columnsOf(onRevoke: (key: KeyWire) => void): Columns<KeyWire> {
  return {
    Key: (key) => (
      <>
        <Foreign text={key.name} />
        <br />
        <code>{key.shown}</code>
      </>
    ),
    User: (key) => <Foreign text={key.username} />,
    State: (key) => <Badge state={stateOf(key)} />,
    May: (key) => <Scopes scopes={key.scopes} />,
    Created: (key) => <Time iso={key.created_at} />,
    'Last used': (key) => (key.used_at === null ? 'Never' : <Time iso={key.used_at} />),
    Expires: (key) => (key.expires_at === null ? 'Never' : <Time iso={key.expires_at} />),
    Do: (key) =>
      key.revoked_at === null && (
        <button type="button" onClick={() => onRevoke(key)}>
          Revoke<span class="hidden"> {key.name}</span>
        </button>
      ),
  }
}

function stateOf(key: KeyWire): 'valid' | 'revoked' | 'expired' {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && Date.parse(key.expires_at) <= Date.now() ? 'expired' : 'valid'
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { api } = usePlatform()
  const [made, setMade] = useState<KeyCreatedWire>()
  const id = useId()
  const users = useLoaded('users to choose from', (api, signal) =>
    api.get<UserListWire>('/api/admin/users', { signal, query: { limit: OFFERED } }),
  )
  if (made) return <MadeDialog apiKey={made} onClose={onClose} />
  const make = async (fields: FormData): Promise<void> => {
    const given = fields.get('user')
    const name = typeof given === 'string' ? given : ''
    const known = users.data?.users.find(({ username }) => username === name)?.id
    const userId = known ?? (await userIdOf(name, api, true))
    if (userId === undefined) throw new ApiFailure(`Nobody is called ${name}.`, UNKNOWN)
    const body = {
      user_id: Number(userId),
      name: fields.get('name'),
      dialect: fields.get('dialect'),
      ...expiryOf(fields.get('expires')),
      scopes: scopesOf(fields),
    }
    setMade(await api.post<KeyCreatedWire>('/api/admin/keys', body))
  }
  return (
    <FormDialog title="Create a key" verb="Create" onSubmit={make} onClose={onClose}>
      <label>
        User
        <input name="user" required maxLength={64} list={id} autocomplete="off" dir="auto" />
        <datalist id={id}>
          {users.data?.users.map(({ username }) => (
            <option key={username} value={username} />
          ))}
        </datalist>
      </label>
      <label>
        Name
        <input name="name" required maxLength={100} autocomplete="off" />
      </label>
      <label>
        How Group A writes amounts for it
        <select name="dialect">
          <option value="flat">"amount": "1.00"</option>
          <option value="nested">"amount": {'{ "amount": "1.00" }'}</option>
        </select>
      </label>
      <label>
        Last day, in UTC, if it is to expire
        <input name="expires" type="date" min={new Date().toISOString().slice(0, 10)} />
      </label>
      <ScopeFields />
    </FormDialog>
  )
}

/** A field can also be filled with the name of another user. */
const OFFERED = 100
const UNKNOWN = { status: 404, code: 'not_found' }

/** The end of that day. */
function expiryOf(day: FormDataEntryValue | null): { expires_at?: string } {
  if (typeof day !== 'string' || day === '') return {}
  return { expires_at: new Date(Date.parse(day) + DAY_MS).toISOString() }
}

const DAY_MS = 86_400_000

function MadeDialog({ apiKey, onClose }: { apiKey: KeyCreatedWire; onClose: () => void }) {
  return (
    <Dialog title="Keep this key now" onClose={onClose} isRequired>
      <p>It is shown only once. The platform stores its hash, and nobody can read it again.</p>
      <p class="secret">
        <code>{apiKey.api_key}</code>
      </p>
      <p class="buttons">
        <Copy value={apiKey.api_key}>the key</Copy>
        <button type="button" class="primary" onClick={onClose}>
          I have saved it
        </button>
      </p>
    </Dialog>
  )
}

function RevokeDialog({ apiKey, onClose }: { apiKey: KeyWire; onClose: () => void }) {
  const { api } = usePlatform()
  const revoke = async (): Promise<void> => {
    await api.post(`/api/admin/keys/${apiKey.id}/revoke`)
    onClose()
  }
  return (
    <FormDialog
      title="Revoke this key?"
      verb="Revoke"
      tone="danger"
      onSubmit={revoke}
      onClose={onClose}
    >
      <p>
        The key <Foreign text={apiKey.name} /> of the user <Foreign text={apiKey.username} /> ends
        now and for good. Programs that use it are refused.
      </p>
    </FormDialog>
  )
}
