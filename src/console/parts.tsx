import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

import { ApiFailure } from './api.ts'
import { formatTime, sentenceOf, shortHash } from './format.ts'

const TONES: Readonly<Record<string, string>> = {
  completed: 'good',
  complete: 'good',
  paid: 'good',
  delivered: 'good',
  confirmed: 'good',
  well: 'good',
  closed: 'good',
  enabled: 'good',
  valid: 'good',
  processing: 'waiting',
  pending: 'waiting',
  running: 'waiting',
  paused: 'waiting',
  failed: 'bad',
  failing: 'bad',
  open: 'bad',
  wrong_chain: 'bad',
  disabled: 'bad',
  revoked: 'bad',
}

/** A state as a word with a colour; the word alone says it, too. */
export function Badge({ state }: { state: string }) {
  return <span class={`badge ${TONES[state] ?? 'plain'}`}>{sentenceOf(state)}</span>
}

export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={iso}>
      {formatTime(iso)}
    </time>
  )
}

/** Text that somebody else has written: in its own direction, and broken where it must be. */
export function Foreign({ text }: { text: string }) {
  return (
    <span class="foreign" dir="auto">
      {text}
    </span>
  )
}

export function Amount({ decimal, currency }: { decimal: string; currency: string }) {
  return (
    <span class="amount">
      {decimal} <abbr class="unit">{currency}</abbr>
    </span>
  )
}

/** A hash that fits, and the whole of it for the clipboard. */
export function Hash({ value, whole = false }: { value: string; whole?: boolean }) {
  return (
    <span class="hash">
      <code title={value}>{whole ? value : shortHash(value)}</code>
      <Copy value={value} />
    </span>
  )
}

export function Copy({ value, label = 'Copy' }: { value: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(value)
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <button type="button" class="quiet" aria-label={label} onClick={() => void copy()}>
      {copied ? 'Copied' : label}
    </button>
  )
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what} …
    </p>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
    </div>
  )
}

/** What went wrong, and what to do: try again, or tell the id to whoever reads the logs. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const failure = error instanceof ApiFailure ? error : undefined
  const sentence = failure?.message ?? 'The page made a mistake. Load it again.'
  return (
    <div class="failure" role="alert">
      <p>{sentence}</p>
      {failure?.problems.map(({ field, message }) => (
        <p key={field}>
          {field}: {message}
        </p>
      ))}
      {failure?.requestId && <p class="faint">Request {failure.requestId}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Panel(props: {
  title: string
  aside?: ComponentChildren
  children: ComponentChildren
}) {
  const id = useId()
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  )
}

/** Facts by name. */
export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Above everything else until it is closed; the browser keeps the focus inside. */
export function Dialog(props: {
  title: string
  onClose: () => void
  children: ComponentChildren
  isRequired?: boolean
}) {
  const { title, onClose, isRequired = false, children } = props
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => ref.current?.showModal(), [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!isRequired) onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** The title of the screen: it takes the focus when one comes, so that a reader starts there. */
export function Heading({ children, aside }: { children: string; aside?: ComponentChildren }) {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${children} · Quittance`
    ref.current?.focus()
  }, [children])
  return (
    <div class="heading">
      <h1 ref={ref} tabIndex={-1}>
        {children}
      </h1>
      {aside}
    </div>
  )
}
