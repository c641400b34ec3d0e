/** Who is signed in. It lives as long as the tab, and no other tab sees it. */
export type Session = { token: string; username: string }

const KEY = 'quittance.session'

export function readSession(): Session | undefined {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Session | null
    return found ?? undefined
  } catch {
    return undefined
  }
}

export function keepSession(session: Session | undefined): void {
  if (session) sessionStorage.setItem(KEY, JSON.stringify(session))
  else sessionStorage.removeItem(KEY)
}
