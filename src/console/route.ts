/** Where one is in the console: the part of the address after `#`. */
export type Route = { path: readonly string[]; query: Readonly<Record<string, string>> }

export type ScreenProps = { route: Route }

export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

export function hashOf(path: readonly string[], query: Route['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '')
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
  return `#/${path.map(encodeURIComponent).join('/')}${search}`
}

/** An address that somebody has typed may be no address. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
