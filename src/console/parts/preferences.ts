import { useEffect, useState } from 'preact/hooks'

/** How this person reads: kept by the browser once it is chosen, and nothing before. */
export type Preferences = {
  theme: 'system' | 'light' | 'dark'
  zone: 'local' | 'utc'
}

const NAMES = { theme: 'quittance.theme', zone: 'quittance.zone' } as const
const FIRST: Preferences = { theme: 'system', zone: 'local' }

let current: Preferences = FIRST
const listeners = new Set<() => void>()

/** Reads what was chosen before, and draws the page so. */
export function readPreferences(): void {
  const [theme, zone] = [kept(NAMES.theme), kept(NAMES.zone)]
  current = {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    zone: zone === 'utc' ? 'utc' : 'local',
  }
  drawTheme()
}

export function prefer(chosen: Partial<Preferences>): void {
  current = { ...current, ...chosen }
  for (const name of ['theme', 'zone'] as const) {
    const value = chosen[name]
    if (value !== undefined) keep(NAMES[name], value)
  }
  drawTheme()
  for (const listener of listeners) listener()
}

/** A part that reads them is drawn anew when they change. */
export function usePreferences(): Preferences {
  const [shown, setShown] = useState(current)
  useEffect(() => {
    const change = (): void => setShown(current)
    listeners.add(change)
    change()
    return () => void listeners.delete(change)
  }, [])
  return shown
}

function drawTheme(): void {
  const { theme } = current
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

/** A browser may keep nothing for anybody. */
function kept(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {
    // It holds until the page is closed.
  }
}
