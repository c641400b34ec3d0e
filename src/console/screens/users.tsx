import type { UserListWire, UserWire } from '../../wire/group-b/users.ts'
import { usePlatform } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { UserLink } from '../parts/names.tsx'
import { Badge, Foreign, FormDialog, Heading, Time } from '../parts/parts.tsx'
import { Scopes, ScopeFields, scopesOf, useAccessList } from './access-parts.tsx'

export function UsersScreen() {
  const { list, paging, open, setOpen, close } = useAccessList<UserListWire, UserWire>('users')
  const add = (
    <button type="button" class="primary" onClick={() => setOpen('add')}>
      Add a user
    </button>
  )
  return (
    <>
      <Heading aside={add}>Users</Heading>
      <CardList
        of={list}
        what="users"
        rows={list.data?.users}
        keyOf={(user) => user.id}
        columns={columnsOf(setOpen)}
      />
      {paging}
      {open === 'add' && <AddDialog onClose={close} />}
      {open !== undefined && open !== 'add' && <StateDialog user={open} onClose={close} />}
    </>
  )
}

function columnsOf(onChange: (user: UserWire) => void): Columns<UserWire> {
  return {
    User: (user) => (
      <>
        <UserLink id={user.id} name={user.username} /> <span class="faint">#{user.id}</span>
      </>
    ),
    State: (user) => <Badge state={user.disabled_at === null ? 'enabled' : 'disabled'} />,
    May: (user) => <Scopes scopes={user.scopes} />,
    Added: (user) => <Time iso={user.created_at} />,
    Do: (user) => (
      <button type="button" onClick={() => onChange(user)}>
        {user.disabled_at === null ? 'Disable' : 'Enable'}
        <span class="hidden"> {user.username}</span>
      </button>
    ),
  }
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { api } = usePlatform()
  const add = async (fields: FormData): Promise<void> => {
    const [username, password] = ['username', 'password'].map((name) => fields.get(name))
    await api.post('/api/admin/users', { username, password, scopes: scopesOf(fields) })
    onClose()
  }
  return (
    <FormDialog title="Add a user" verb="Add" onSubmit={add} onClose={onClose}>
      <label>
        Username
        <input
          name="username"
          required
          maxLength={64}
          autocomplete="off"
          pattern="[A-Za-z0-9][A-Za-z0-9._@\-]*"
          title="Letters, digits, dots, dashes, underscores or @"
        />
      </label>
      <label>
        Password, 12 characters or more
        <input
          name="password"
          type="password"
          required
          minLength={12}
          maxLength={256}
          autocomplete="new-password"
        />
      </label>
      <ScopeFields />
    </FormDialog>
  )
}

function StateDialog({ user, onClose }: { user: UserWire; onClose: () => void }) {
  const { api } = usePlatform()
  const isEnabled = user.disabled_at === null
  const [verb, path] = isEnabled ? ['Disable', 'disable'] : ['Enable', 'enable']
  const change = async (): Promise<void> => {
    await api.post(`/api/admin/users/${user.id}/${path}`)
    onClose()
  }
  return (
    <FormDialog
      title={`${verb} this user?`}
      verb={verb}
      tone={isEnabled ? 'danger' : 'primary'}
      onSubmit={change}
      onClose={onClose}
    >
      <p>
        <Foreign text={user.username} />:{' '}
        {isEnabled
          ? 'the tokens end for good, and the keys stop until the user is enabled.'
          : 'the keys work again; tokens from before stay ended.'}
      </p>
    </FormDialog>
  )
}
