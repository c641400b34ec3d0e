import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'

import { createApi } from './api.ts'
import { PlatformContext, type Platform } from './context.ts'
import { Menu, TopBar, useSearchKeys } from './frame/top.tsx'
import { Dialog, Empty, Heading } from './parts/parts.tsx'
import { hashOf, readRoute, type Route } from './route.ts'
import { screenOf } from './frame/menu.ts'
import { Search } from './frame/search.tsx'
import {
  askForSession,
  keepSession,
  readSession,
  shareSession,
  SignIn,
  type Session,
} from './sign-in.tsx'
import { followStream, type Connection } from './stream.ts'

export function App() {
  const [session, setSession] = useState(readSession)
  const [isExpired, setExpired] = useState(false)
  const start = (next: Session | undefined): void => {
    keepSession(next)
    setSession(next)
    setExpired(false)
  }
  useEffect(() => {
    const abort = new AbortController()
    shareSession(abort.signal)
    const join = async (): Promise<void> => {
      const found = await askForSession()
      if (found && !readSession()) start(found)
    }
    // The door is there meanwhile: who has to sign in does not wait for an answer of nobody.
    if (!session) void join()
    return () => abort.abort()
  }, [])
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
          <p>Sign in again to continue here.</p>
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
  const [isSearching, setSearching] = useState(false)
  useSearchKeys(useCallback(() => setSearching(true), []))
  useEffect(() => setMenuOpen(false), [route])
  const [name = '', id] = route.path
  const screen = screenOf(name)
  const Shown = (id === undefined ? screen?.list : screen?.one) ?? Unknown
  return (
    <PlatformContext.Provider value={platform}>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <TopBar
        isMenuOpen={isMenuOpen}
        onMenu={() => setMenuOpen(!isMenuOpen)}
        onSearch={() => setSearching(true)}
      />
      <Menu route={route} username={session.username} isOpen={isMenuOpen} onSignOut={onSignOut} />
      <main id="main" tabIndex={-1}>
        <Shown key={route.path.join('/')} route={route} />
      </main>
      {isSearching && <Search onClose={() => setSearching(false)} />}
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
      <Empty title="This page does not exist">
        <p>
          <a href={hashOf([])}>Go to the overview</a>
        </p>
      </Empty>
    </>
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
