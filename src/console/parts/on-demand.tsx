import { useLayoutEffect, useState } from 'preact/hooks'

const loaded = new WeakMap<() => Promise<unknown>, unknown>()

/** A part of the program, loaded when something first needs it. `load` is always the same. */
export function useOnDemand<T>(load: () => Promise<T>): { part?: T; isFailed?: true } {
  const [state, setState] = useState<{ part?: T; isFailed?: true }>(
    loaded.has(load) ? { part: loaded.get(load) as T } : {},
  )
  useLayoutEffect(() => {
    const bring = async (): Promise<void> => {
      try {
        const part = await load()
        loaded.set(load, part)
        setState({ part })
      } catch {
        setState({ isFailed: true })
      }
    }
    if (state.part === undefined) void bring()
  }, [])
  return state
}

/** A browser remembers that a file did not come, and a new version has files of other names. */
export function Unloaded({ what }: { what: string }) {
  return (
    <div class="failure" role="alert">
      <p>The platform did not send {what}. Check your connection and load the page again.</p>
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </div>
  )
}
