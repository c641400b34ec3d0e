import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import type { OverviewWire, StreamEventWire } from '../wire/group-b/admin.ts'
import type { Api } from './api.ts'
import type { Connection } from './stream.ts'

/** What every screen needs. */
export type Platform = {
  api: Api
  connection: Connection
  /** Calls the listener with each event. The returned function ends that. */
  listen: (listener: (event: StreamEventWire) => void) => () => void
}

export const PlatformContext = createContext<Platform | undefined>(undefined)

export function usePlatform(): Platform {
  const platform = useContext(PlatformContext)
  if (!platform) throw new TypeError('a screen is in the console')
  return platform
}

export function useEvents(listener: (event: StreamEventWire) => void): void {
  const { listen } = usePlatform()
  const latest = useRef(listener)
  latest.current = listener
  useEffect(() => listen((event) => latest.current(event)), [listen])
}

export type Loaded<T> = {
  data: T | undefined
  error: unknown
  reload: () => void
}

/**
 * Loads when the key changes, when told to, and when the stream of events begins: what happened
 * between the load and the stream is in neither. The last answer stays while a new one comes. A
 * load that is under way is never given up for a new one, which follows it: where an answer takes
 * longer than the time between two reloads, the page would else wait for ever.
 */
export function useLoaded<T>(
  key: string,
  load: (api: Api, signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const { api, connection } = usePlatform()
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown }>({ key })
  const latest = useRef(load)
  latest.current = load
  const again = useRef<() => void>(undefined)
  // What is asked before the page is painted is there sooner by the time that the paint takes.
  useLayoutEffect(() => {
    const abort = new AbortController()
    const once = () =>
      latest.current(api, abort.signal).then(
        (data) => setState({ key, data }),
        (error: unknown) => {
          if (abort.signal.aborted) return
          setState((before) => ({ ...(before.key === key ? before : { key }), error }))
        },
      )
    again.current = oneAfterAnother(once, abort.signal)
    again.current()
    return () => abort.abort()
  }, [api, key])
  const reload = useCallback(() => again.current?.(), [])
  const isLive = connection.state === 'live'
  const wasLive = useRef(isLive)
  useEffect(() => {
    if (isLive && !wasLive.current) reload()
    wasLive.current = isLive
  }, [isLive, reload])
  const isCurrent = state.key === key
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    reload,
  }
}

/** Starts the work, or has it start once more when what is under way has ended. */
function oneAfterAnother(work: () => Promise<void>, signal: AbortSignal): () => void {
  let isBusy = false
  let isWanted = false
  return () => {
    isWanted = true
    if (isBusy) return
    isBusy = true
    void (async () => {
      while (isWanted && !signal.aborted) {
        isWanted = false
        await work()
      }
      isBusy = false
    })()
  }
}

/** Calls at most once in that time, however often it is asked to. */
export function useThrottled(work: () => void, ms: number): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const latest = useRef(work)
  latest.current = work
  useEffect(() => () => clearTimeout(timer.current), [])
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, ms)
  }, [ms])
}

const REFRESH_MS = 5000

/** Calls again and again while the screen is there and somebody looks. */
export function useInterval(work: () => void, ms = REFRESH_MS): void {
  const latest = useRef(work)
  latest.current = work
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current()
    }, ms)
    return () => clearInterval(timer)
  }, [ms])
}

/**
 * The chains of the installation, the default one first; empty until they are known. A screen that
 * gave up asking would send on the default chain without offering the others.
 */
export function useChains(): readonly ServedChain[] {
  const { api } = usePlatform()
  const [chains, setChains] = useState(() => known.get(api) ?? [])
  useEffect(() => {
    const abort = new AbortController()
    const { signal } = abort
    const ask = async (): Promise<void> => {
      while (!known.has(api) && !signal.aborted) {
        try {
          const overview = await api.get<Overview>('/api/admin/overview', { signal })
          known.set(api, overview.chains)
        } catch {
          await new Promise((later) => setTimeout(later, ASK_AGAIN_MS))
        }
      }
      // Another part of the screen may have asked meanwhile.
      if (!signal.aborted) setChains(known.get(api) ?? [])
    }
    void ask()
    return () => abort.abort()
  }, [api])
  return chains
}

/** A chain that is added later is offered when the page is loaded again. */
const known = new WeakMap<Api, readonly ServedChain[]>()
const ASK_AGAIN_MS = 1000

type Overview = Pick<OverviewWire, 'chains'>
type ServedChain = OverviewWire['chains'][number]
