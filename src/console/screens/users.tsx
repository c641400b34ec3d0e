import { useState } from 'preact/hooks'

import type { UserListWire, UserWire } from '../../wire/group-b/users.ts'
import { useLoaded, usePlatform } from '../context.ts'
import { Badge, Dialog, Failure, Foreign, Heading, Loading, Time } from '../parts.tsx'
import { hashOf } from '../route.ts'
import { More, Scopes, ScopeFields, scopesOf } from './access-parts.tsx'

export function UsersScreen() {
  const [afterId, setAfterId] = useState(0)
  const list = useLoaded(`users ${afterId}`, (api, signal) =>
    api.get<UserListWire>('/api/admin/users', { signal, query: { after_id: afterId, limit: 50 } }),
  )
  const [open, setOpen] = useState<'add' | UserWire>()
  const close = (): void => {
    setOpen(undefined)
    list.reload()
  }
  const add = (
    <button type="button" class="primary" onClick={() => setOpen('add')}>
      Add a user
    </button>
  )
  return (
    <>
      <Heading aside={add}>Users</Heading>
      {list.error !== undefined && <Failure error={list.error} retry={list.reload} />}
      {!list.data && list.error === undefined && <Loading what="users" />}
      {list.data && <Table users={list.data.users} onChange={setOpen} />}
      {list.data && <More next={list.data.next_after_id} after={afterId} onGo={setAfterId} />}
      {open === 'add' && <AddDialog onClose={close} />}
      {open !== undefined && open !== 'add' && <StateDialog user={open} onClose={close} />}
    </>
  )
}

function Table({
  users,
  onChange,
}: {
  users: readonly UserWire[]
  onChange: (user: UserWire) => void
}) {
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">User</th>
          <th scope="col">State</th>
          <th scope="col">May</th>
          <th scope="col">Added</th>
          <th scope="col">Do</th>
        </tr>
      </thead>
      <tbody>
        {users.map((user) => (
          <tr key={user.id}>
            <th scope="row">
              <a href={hashOf(['transactions'], { user_id: String(user.id) })}>
                <Foreign text={user.username} />
              </a>{' '}
              <span class="faint">{user.id}</span>
            </th>
            <td data-column="State">
              <Badge state={user.disabled_at === null ? 'enabled' : 'disabled'} />
            </td>
            <td data-column="May">
              <Scopes scopes={user.scopes} />
            </td>
            <td data-column="Added">
              <Time iso={user.created_at} />
            </td>
            <td>
              <button type="button" onClick={() => onChange(user)}>
                {user.disabled_at === null ? 'Disable' : 'Enable'}
                <span class="hidden"> {user.username}</span>
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { api } = usePlatform()
  const [error, setError] = useState<unknown>()
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const fields = new FormData(form)
    try {
      await api.post('/api/admin/users', {
        username: fields.get('username'),
        password: fields.get('password'),
        scopes: scopesOf(fields),
      })
      onClose()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog title="Add a user" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void submit(event.currentTarget)
        }}
      >
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
        {error !== undefined && <Failure error={error} />}
        <p class="buttons">
          <button type="submit" class="primary">
            Add
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  )
}

function StateDialog({ user, onClose }: { user: UserWire; onClose: () => void }) {
  const { api } = usePlatform()
  const [error, setError] = useState<unknown>()
  const verb = user.disabled_at === null ? 'disable' : 'enable'
  const change = async (): Promise<void> => {
    try {
      await api.post(`/api/admin/users/${user.id}/${verb}`)
      onClose()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog
      title={verb === 'disable' ? 'Disable this user?' : 'Enable this user?'}
      onClose={onClose}
    >
      <p>
        <Foreign text={user.username} />:{' '}
        {verb === 'disable'
          ? 'the tokens end for good, and the keys stay out until the user is enabled.'
          : 'the keys work again; tokens from before stay ended.'}
      </p>
      {error !== undefined && <Failure error={error} />}
      <p class="buttons">
        <button
          type="button"
          class={verb === 'disable' ? 'danger' : 'primary'}
          onClick={() => void change()}
        >
          {verb === 'disable' ? 'Disable' : 'Enable'}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </Dialog>
  )
}
