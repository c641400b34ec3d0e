import { useState } from 'preact/hooks'

import { ApiFailure, createApi, signIn } from './api.ts'
import { textsOf } from './form.ts'
import { Failure } from './parts/parts.tsx'

/** Asks for a username and a password, and lets only operators through. */
export function SignIn(props: { username?: string; onSession: (session: Session) => void }) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const { username = '', password = '' } = textsOf(form)
    setBusy(true)
    try {
      const { token } = await signIn(username, password)
      await requireOperator(token)
      props.onSession({ token, username })
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <form
      class="sign-in"
      onSubmit={(event) => {
        event.preventDefault()
        void submit(event.currentTarget)
      }}
    >
      <label>
        Username
        <input
          name="username"
          autocomplete="username"
          required
          maxLength={128}
          defaultValue={props.username ?? ''}
          spellcheck={false}
          autocapitalize="none"
        />
      </label>
      <label>
        Password
        <input
          name="password"
          type="password"
          autocomplete="current-password"
          required
          maxLength={1024}
        />
      </label>
      {error !== undefined && <Failure error={error} />}
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? 'Signing in …' : 'Sign in'}
      </button>
    </form>
  )
}

async function requireOperator(token: string): Promise<void> {
  try {
    await createApi({ token, onExpired: () => undefined }).get('/api/admin/overview')
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 403) throw error
    const message =
      'This user cannot see the console. It needs the scope admin. Ask an administrator.'
    throw new ApiFailure(message, { status: 403, code: 'forbidden', cause: error })
  }
}

/** Who is signed in. It lives as long as the tab; a tab that is opened from one asks it for it. */
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

type Word = { ask: true } | { session: Session }

/** Answers tabs of the same origin that ask who is signed in, until the signal aborts. */
export function shareSession(signal: AbortSignal): void {
  const channel = new BroadcastChannel(KEY)
  channel.addEventListener('message', ({ data }: MessageEvent<Word>) => {
    const session = readSession()
    if ('ask' in data && session) channel.postMessage({ session } satisfies Word)
  })
  signal.addEventListener('abort', () => channel.close())
}

/** Whom another tab says is signed in; undefined where none answers at once. */
export function askForSession(): Promise<Session | undefined> {
  const channel = new BroadcastChannel(KEY)
  return new Promise<Session | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ANSWER_MS)
    channel.addEventListener('message', ({ data }: MessageEvent<Word>) => {
      if (!('session' in data)) return
      clearTimeout(timer)
      resolve(data.session)
    })
    channel.postMessage({ ask: true } satisfies Word)
  }).finally(() => channel.close())
}

const ANSWER_MS = 150
