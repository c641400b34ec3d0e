import type { ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'

import { createApi } from './api.ts'
import { PlatformContext, type Platform } from './context.ts'
import { formatClock } from './parts/format.ts'
import { Dialog, Empty, Heading } from './parts/parts.tsx'
import { hashOf, readRoute, type Route, type ScreenProps } from './route.ts'
import { BatchesScreen, BatchScreen } from './screens/batches.tsx'
import { BreakScreen } from './screens/break.tsx'
import { BreaksScreen } from './screens/breaks.tsx'
import { DeliveriesScreen } from './screens/deliveries.tsx'
import { KeysScreen } from './screens/keys.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { RunsScreen } from './screens/runs.tsx'
import { SignersScreen } from './screens/signers.tsx'
import { TransactionScreen } from './screens/transaction.tsx'
import { TransactionsScreen } from './screens/transactions.tsx'
import { PaymentScreen, PaymentsScreen } from './screens/undecided-payments.tsx'
import { UsersScreen } from './screens/users.tsx'
import { WalletScreen, WalletsScreen } from './screens/wallets.tsx'
import { keepSession, readSession, SignIn, type Session } from './sign-in.tsx'
import { followStream, type Connection } from './stream.ts'

type Screen = {
  name: string
  title: string
  list: ComponentType<ScreenProps>
  one?: ComponentType<ScreenProps>
}
const SCREENS: readonly Screen[] = [
  { name: '', title: 'Overview', list: OverviewScreen },
  {
    name: 'transactions',
    title: 'Transactions',
    list: TransactionsScreen,
    one: TransactionScreen,
  },
  { name: 'batches', title: 'Batches', list: BatchesScreen, one: BatchScreen },
  { name: 'payments', title: 'Decisions', list: PaymentsScreen, one: PaymentScreen },
  { name: 'breaks', title: 'Breaks', list: BreaksScreen, one: BreakScreen },
  { name: 'runs', title: 'Reconciliation', list: RunsScreen },
  { name: 'wallets', title: 'Wallets', list: WalletsScreen, one: WalletScreen },
  { name: 'signers', title: 'Signers', list: SignersScreen },
  { name: 'deliveries', title: 'Webhooks', list: DeliveriesScreen },
  { name: 'users', title: 'Users', list: UsersScreen },
  { name: 'keys', title: 'API keys', list: KeysScreen },
]

export function App() {
  const [session, setSession] = useState(readSession)
  const [isExpired, setExpired] = useState(false)
  const start = (next: Session | undefined): void => {
    keepSession(next)
    setSession(next)
    setExpired(false)
  }
  if (!session) {
    return (
      <main class="door">
        <h1>Quittance</h1>
        <p>The operator’s console</p>
        <SignIn onSession={start} />
      </main>
    )
  }
  return (
    <>
      <Console
        session={session}
        onExpired={() => setExpired(true)}
        onSignOut={() => start(undefined)}
      />
      {isExpired && (
        <Dialog title="Your session has ended" onClose={() => undefined} isRequired>
          <p>Sign in again to go on where you are.</p>
          <SignIn username={session.username} onSession={start} />
        </Dialog>
      )}
    </>
  )
}

function Console(props: { session: Session; onExpired: () => void; onSignOut: () => void }) {
  const { session, onExpired, onSignOut } = props
  const route = useRoute()
  const platform = usePlatformOf(session, onExpired)
  const [isMenuOpen, setMenuOpen] = useState(false)
  useEffect(() => setMenuOpen(false), [route])
  const [name = '', id] = route.path
  const screen = SCREENS.find((one) => one.name === name)
  const Shown = (id === undefined ? screen?.list : screen?.one) ?? Unknown
  return (
    <PlatformContext.Provider value={platform}>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={hashOf([])}>
          Quittance
        </a>
        <ConnectionNote connection={platform.connection} />
        <button
          type="button"
          class="menu"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          Menu
        </button>
      </header>
      <nav id="menu" class={isMenuOpen ? 'open' : ''} aria-label="Screens">
        <ul>
          {SCREENS.map((one) => (
            <li key={one.name}>
              <a href={hashOf([one.name])} {...(one === screen && { 'aria-current': 'page' })}>
                {one.title}
              </a>
            </li>
          ))}
        </ul>
        <p class="who">
          <span class="foreign" dir="auto">
            {session.username}
          </span>
          <button type="button" onClick={onSignOut}>
            Sign out
          </button>
        </p>
      </nav>
      <main id="main" tabIndex={-1}>
        <Shown key={route.path.join('/')} route={route} />
      </main>
    </PlatformContext.Provider>
  )
}

/** The part of the address after `#` is the route, so the browser must not follow this link. */
function skipToMain(event: Event): void {
  event.preventDefault()
  document.querySelector('main')?.focus()
}

function Unknown() {
  return (
    <>
      <Heading>Not found</Heading>
      <Empty title="There is no such page">
        <p>
          <a href={hashOf([])}>Go to the overview</a>
        </p>
      </Empty>
    </>
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

function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const change = (): void => setHash(location.hash)
    addEventListener('hashchange', change)
    // It may have changed since it was first read.
    change()
    return () => removeEventListener('hashchange', change)
  }, [])
  return useMemo(() => readRoute(hash), [hash])
}

function usePlatformOf(session: Session, onExpired: () => void): Platform {
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' })
  const parts = useMemo(() => {
    const listeners = new Set<Parameters<Platform['listen']>[0]>()
    return {
      api: createApi({ token: session.token, onExpired }),
      listeners,
      listen: (listener: Parameters<Platform['listen']>[0]) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }
  }, [session.token])
  useEffect(() => {
    const abort = new AbortController()
    void followStream({
      api: parts.api,
      onEvent: (event) => parts.listeners.forEach((listener) => listener(event)),
      onConnection: setConnection,
      signal: abort.signal,
      network: window,
    })
    return () => abort.abort()
  }, [parts])
  return { api: parts.api, listen: parts.listen, connection }
}
