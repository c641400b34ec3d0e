import { useCallback, useRef, useState } from 'preact/hooks'

export type Act = {
  /** Does one thing at a time: who presses twice asks once. */
  act: (work: () => Promise<void>) => void
  isBusy: boolean
  error: unknown
}

/** What somebody asks the platform to do, whether it is being done, and what went wrong. */
export function useAct(): Act {
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>(REST)
  const isBusy = useRef(false)
  const act = useCallback((work: () => Promise<void>): void => {
    if (isBusy.current) return
    const end = (error: unknown): void => {
      isBusy.current = false
      setState({ isBusy: false, error })
    }
    isBusy.current = true
    setState({ isBusy: true, error: undefined })
    work().then(() => end(undefined), end)
  }, [])
  return { act, ...state }
}

const REST = { isBusy: false, error: undefined }
