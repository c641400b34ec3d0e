import { useEffect, useState } from 'preact/hooks'

import type { FoundListWire } from '../../wire/group-b/console.ts'
import type { UserListWire } from '../../wire/group-b/users.ts'
import type { Api } from '../api.ts'
import { usePlatform } from '../context.ts'
import { hashOf } from '../route.ts'
import { sentenceOf, whoOf } from './format.ts'
import { Foreign } from './parts.tsx'

type NameOf = (api: Api) => Promise<string | undefined>

/** What was asked for once is not asked for again, unless the answer was lost. */
const known = new WeakMap<Api, Map<string, Promise<string | undefined>>>()

function useName(key: string, find: NameOf): string | undefined {
  const { api } = usePlatform()
  const [name, setName] = useState<string>()
  useEffect(() => {
    const names = known.get(api) ?? new Map<string, Promise<string | undefined>>()
    known.set(api, names)
    const found = names.get(key) ?? find(api)
    names.set(key, found)
    let isShown = true
    found.then(
      (name) => isShown && setName(name),
      () => names.delete(key),
    )
    return () => void (isShown = false)
  }, [api, key])
  return name
}

/** Who did it: by name if it was a user. */
export function Who({ actor }: { actor: string }) {
  const [, id] = /^user:(\d+)$/.exec(actor) ?? []
  const name = useName(actor, id === undefined ? async () => whoOf(actor) : userOf(Number(id)))
  return <Foreign text={name ?? whoOf(actor)} />
}

/** Leads to the transactions of the user; without the name it is asked for. */
export function UserLink({ id, name }: { id: number; name?: string }) {
  return (
    <a href={hashOf(['transactions'], { user_id: String(id) })}>
      {name === undefined ? <Who actor={`user:${id}`} /> : <Foreign text={name} />}
    </a>
  )
}

/** The list begins after an id, so this is a page with one user. */
function userOf(id: number): NameOf {
  return async (api) => {
    const query = { after_id: id - 1, limit: 1 }
    const { users } = await api.get<UserListWire>('/api/admin/users', { query })
    return users.find((user) => user.id === id)?.username
  }
}

/** The number of a user, by the name or the number; undefined where nobody has it. */
export async function userIdOf(
  user: string,
  api: Api,
  isExact = false,
): Promise<string | undefined> {
  if (user === '' || /^[1-9]\d{0,8}$/.test(user)) return user
  const { found } = await api.get<FoundListWire>('/api/admin/search', { query: { q: user } })
  const users = found.filter(({ kind }) => kind === 'user')
  const exact = users.find(({ title }) => title.toLowerCase() === user.toLowerCase())
  return (isExact ? exact : (exact ?? users[0]))?.id
}

type Kinds = Record<string, ReadonlyArray<Record<string, string | number>>>

/** What stands between the payer and the platform, such as `Crypto checkout`. */
export function RailName({ of, id }: { of: 'gateway' | 'institution'; id: number }) {
  const name = useName(`${of} ${id}`, async (api) => {
    const lists = await api.get<Kinds>(`/api/${of}s`)
    const kind = lists[`${of}s`]?.find((one) => one[`${of}_id`] === id)?.['kind']
    return kind === undefined ? undefined : (NAMES[kind] ?? sentenceOf(String(kind)))
  })
  return <>{name ?? id}</>
}

const NAMES: Readonly<Record<string, string>> = { ach: 'ACH', wire: 'Bank wire' }
