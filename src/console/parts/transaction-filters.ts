import type { Route } from '../route.ts'

/** An id of the platform leads to its own page. */
export function screenOf(find: string): [screen: string, id: string | undefined] {
  const id = /^(TX|BAT)\d+$/i.test(find) ? find.toUpperCase() : undefined
  return [id?.startsWith('BAT') ? 'batches' : 'transactions', id]
}

export function foundBy(find: string): Route['query'] {
  if (find === '') return {}
  if (/^0x[0-9a-f]{64}$/i.test(find)) return { hash: find.toLowerCase() }
  return /^0x[0-9a-f]{40}$/i.test(find) ? { to_address: find } : { external_id: find }
}

/** `order_id=42`, as the platform takes it. */
export function wordOf(word: string): Route['query'] {
  const [, key = '', value = ''] = /^([^=]+)=(.*)$/.exec(word) ?? []
  return key === '' ? {} : { [`metadata[${key.trim()}]`]: value.trim() }
}

export function fieldsOf(query: Route['query']): Record<string, string | undefined> {
  const [name = '', value] =
    Object.entries(query).find(([one]) => one.startsWith('metadata[')) ?? []
  return {
    ...query,
    user: query['user_id'],
    find: query['hash'] ?? query['to_address'] ?? query['external_id'],
    word: value === undefined ? '' : `${name.slice('metadata['.length, -1)}=${value}`,
  }
}
