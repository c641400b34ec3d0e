import { useEffect } from 'preact/hooks'

import { usePlatform } from '../context.ts'
import { formatClock } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { prefer, usePreferences, type Preferences } from '../parts/preferences.ts'
import { hashOf, type Route } from '../route.ts'
import { MENU } from './menu.ts'
import type { Connection } from '../stream.ts'

/** The bar above everything: where one is, the search, how one reads, and whether it is live. */
export function TopBar(props: { isMenuOpen: boolean; onMenu: () => void; onSearch: () => void }) {
  const { isMenuOpen, onMenu, onSearch } = props
  const { connection } = usePlatform()
  return (
    <header class="top">
      <a class="brand" href={hashOf([])}>
        Quittance
      </a>
      <button
        type="button"
        class="search"
        aria-label="Search"
        aria-keyshortcuts="/ Control+K"
        onClick={onSearch}
      >
        <Icon name="search" /> <span>Search</span> <kbd aria-hidden="true">/</kbd>
      </button>
      <ConnectionNote connection={connection} />
      <Reading />
      <button
        type="button"
        class="menu"
        aria-expanded={isMenuOpen}
        aria-controls="menu"
        onClick={onMenu}
      >
        Menu
      </button>
    </header>
  )
}

const THEMES = ['system', 'light', 'dark'] as const
const THEME_ICONS = { system: 'system', light: 'sun', dark: 'moon' } as const

/** How times and colours are shown: each button names what holds now, and takes the next one. */
function Reading() {
  const { theme, zone } = usePreferences()
  const next: Preferences['theme'] = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  return (
    <div class="reading">
      <button
        type="button"
        class="quiet"
        title="Show times in UTC or in your own time zone"
        onClick={() => prefer({ zone: zone === 'utc' ? 'local' : 'utc' })}
      >
        <Icon name="clock" /> <span class="hidden">Times: </span>
        {zone === 'utc' ? 'UTC' : 'Local time'}
      </button>
      <button
        type="button"
        class="quiet"
        title="Light, dark, or the setting of your system"
        onClick={() => prefer({ theme: next })}
      >
        <Icon name={THEME_ICONS[theme]} />
        <span class="hidden">Theme: {theme}</span>
      </button>
    </div>
  )
}

function ConnectionNote({ connection }: { connection: Connection }) {
  const words =
    connection.state === 'lost'
      ? `Connection lost at ${formatClock(connection.since)}; trying again`
      : connection.state === 'live'
        ? 'Live'
        : 'Connecting …'
  return (
    <p class={`connection ${connection.state}`} role="status">
      {words}
    </p>
  )
}

export function Menu(props: {
  route: Route
  username: string
  isOpen: boolean
  onSignOut: () => void
}) {
  const { route, username, isOpen, onSignOut } = props
  return (
    <nav id="menu" class={isOpen ? 'open' : ''} aria-label="Screens">
      {MENU.map(({ title, screens }) => (
        <section key={title} aria-label={title}>
          <p class="group" aria-hidden="true">
            {title}
          </p>
          <ul>
            {screens.map(({ name, title, icon, query }) => (
              <li key={title}>
                <a
                  href={hashOf([name], query)}
                  {...(isAt(route, name, query) && { 'aria-current': 'page' })}
                >
                  <Icon name={icon} />
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <p class="who">
        <span class="foreign" dir="auto">
          {username}
        </span>
        <button type="button" onClick={onSignOut}>
          Sign out
        </button>
      </p>
    </nav>
  )
}

/** A list with a filter of its own is another place than the list. */
function isAt(route: Route, name: string, query: Route['query'] | undefined): boolean {
  const [at = '', id] = route.path
  if (at !== name) return false
  const deposits = id === undefined && route.query['type'] === 'deposit'
  return query === undefined ? !(name === 'transactions' && deposits) : deposits
}

/** `/` and Ctrl-K open the search from everywhere but a field that takes text. */
export function useSearchKeys(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
      const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey
      if (!isK && !(isSlash && !takesText(event.target))) return
      event.preventDefault()
      open()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [open])
}

function takesText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select')
}
