import { createContext, type ComponentChildren } from 'preact'
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks'

import { useAct } from '../act.ts'
import { ApiFailure } from '../api.ts'
import type { Loaded } from '../context.ts'
import { hashOf } from '../route.ts'
import { formatDecimal, formatTime, sentenceOf, shortHash, zoneOf } from './format.ts'
import { Icon } from './icon.tsx'
import { usePreferences } from './preferences.ts'

const TONES: Readonly<Record<string, string>> = {
  completed: 'good',
  complete: 'good',
  paid: 'good',
  delivered: 'good',
  confirmed: 'good',
  well: 'good',
  closed: 'good',
  won: 'good',
  acknowledged: 'waiting',
  needs_response: 'waiting',
  under_review: 'waiting',
  queued: 'waiting',
  lost: 'bad',
  not_on_chain: 'bad',
  enabled: 'good',
  valid: 'good',
  processing: 'waiting',
  pending: 'waiting',
  running: 'waiting',
  paused: 'waiting',
  underpaid: 'waiting',
  delayed: 'waiting',
  partly_completed: 'bad',
  partly_refunded: 'waiting',
  failed: 'bad',
  failing: 'bad',
  open: 'bad',
  disputed: 'bad',
  wrong_chain: 'bad',
  disabled: 'bad',
  revoked: 'bad',
  expired: 'bad',
}

/** A state as a word with a colour; the word alone says it, too. */
export function Badge({ state, tone = state }: { state: string; tone?: string }) {
  return <span class={`badge ${TONES[tone] ?? 'plain'}`}>{sentenceOf(state)}</span>
}

export function Time({ iso }: { iso: string }) {
  const { zone } = usePreferences()
  // Where it takes two lines, the zone stays with the clock.
  return (
    <time dateTime={iso} title={iso}>
      {formatTime(iso, zone)}&nbsp;<abbr class="unit">{zoneOf(iso, zone)}</abbr>
    </time>
  )
}

/** The longest text that the API takes. */
const ON_A_PAGE = 2048
/** Fills three lines of the widest column. */
export const IN_A_LIST = 300

/**
 * How much of a foreign text a place shows: a browser needs seconds to lay out columns that hold
 * thousands of characters. On a page the rest is shown when asked for.
 */
export const ForeignLength = createContext(ON_A_PAGE)

/** Text that somebody else has written: in its own direction, and broken where it must be. */
export function Foreign({ text }: { text: string }) {
  const length = useContext(ForeignLength)
  const [isWhole, setWhole] = useState(false)
  const isCut = text.length > length && !isWhole
  return (
    <>
      <span class="foreign" dir="auto">
        {isWhole ? text : startOf(text, length)}
      </span>
      {isCut && length === ON_A_PAGE && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {text.length} characters
        </button>
      )}
    </>
  )
}

/** So much of a text, and dots where it goes on. */
export function startOf(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text
}

/** With the digits that its currency has, in groups of three; it never wraps. */
export function Amount({ decimal, currency }: { decimal: string; currency: string }) {
  return (
    <span class="amount">
      <span class="digits">{formatDecimal(decimal, currency)}</span>{' '}
      <abbr class="unit">{currency}</abbr>
    </span>
  )
}

/** A hash that fits, and the whole of it for the clipboard. */
export function Hash({ value, whole = false }: { value: string; whole?: boolean }) {
  return (
    <span class="hash">
      <code title={value}>{whole ? value : shortHash(value)}</code>
      <Copy value={value} isWhole={whole} isNamed={false}>
        <span class="hidden">{shortHash(value)}</span>
      </Copy>
    </span>
  )
}

/** `children` say what is copied; where it is not shown whole, a failure shows it. */
export function Copy(props: {
  value: string
  children: ComponentChildren
  isWhole?: boolean
  /** Whether the word is shown next to the icon. */
  isNamed?: boolean
}) {
  const { value, children, isWhole = true, isNamed = true } = props
  const [outcome, setOutcome] = useState<'copied' | 'failed'>()
  const copy = async (): Promise<void> => {
    try {
      // Without https there is no clipboard; with it, a browser may still refuse.
      await navigator.clipboard.writeText(value)
      setOutcome('copied')
      setTimeout(() => setOutcome(undefined), 1500)
    } catch {
      setOutcome('failed')
    }
  }
  return (
    <>
      <button type="button" class="quiet" onClick={() => void copy()}>
        <Icon name={outcome === 'copied' ? 'check' : 'copy'} />{' '}
        <span class={isNamed ? '' : 'hidden'}>{outcome === 'copied' ? 'Copied' : 'Copy'}</span>{' '}
        {children}
      </button>
      <span role="status" class={outcome === 'failed' ? 'uncopied' : 'hidden'}>
        {outcome === 'copied' && 'Copied'}
        {outcome === 'failed' &&
          'Your browser does not allow copying here. Select the text and copy it by hand'}
        {outcome === 'failed' && (isWhole ? '.' : `: ${value}`)}
      </span>
    </>
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

/** Why a list or a thing is not there yet: it comes, or it could not be had. */
export function LoadState({ of, what }: { of: Loaded<unknown>; what: string }) {
  if (of.error !== undefined) return <Failure error={of.error} retry={of.reload} />
  return of.data === undefined ? <Loading what={what} /> : null
}

/** What went wrong, and what to do: try again, or give the id to the person who reads the logs. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const failure = error instanceof ApiFailure ? error : undefined
  const sentence = failure?.message ?? 'The page failed. Load it again.'
  const problems = failure?.problems.filter(({ message }) => !sentence.includes(message)) ?? []
  return (
    <div class="failure" role="alert">
      <p>{sentence}</p>
      {problems.map(({ field, message }) => (
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

/** Leads from one thing to the list of all. */
export function Back({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <p class="back">
      <a href={hashOf([to])}>{children}</a>
    </p>
  )
}

/** The facts come before the children. */
export function Panel(props: {
  title: string
  aside?: ComponentChildren
  facts?: FactRows
  areFigures?: boolean
  children?: ComponentChildren
}) {
  const { facts, areFigures } = props
  const id = useId()
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      {facts && <Facts rows={facts} areFigures={areFigures} />}
      {props.children}
    </section>
  )
}

type FactRows = readonly (readonly [string, ComponentChildren])[]

/** Facts by name. Figures stand one below the other. */
export function Facts({ rows, areFigures }: { rows: FactRows; areFigures?: boolean | undefined }) {
  return (
    <dl class={areFigures === true ? 'facts figures' : 'facts'}>
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
  const show = (): void => ref.current?.showModal()
  useEffect(show, [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      closedby={isRequired ? 'none' : 'closerequest'}
      // Some browsers do not know `closedby`, and let nobody prevent a second Escape.
      onClose={isRequired ? show : onClose}
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

/** Asks for what a deed needs, does it, and closes; where it fails, it says so and stays. */
export function FormDialog(props: {
  title: string
  verb: string
  tone?: 'primary' | 'danger'
  onSubmit: (fields: FormData) => Promise<void>
  onClose: () => void
  children: ComponentChildren
}) {
  const { title, verb, tone = 'primary', onSubmit, onClose, children } = props
  const { act, isBusy, error } = useAct()
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const fields = new FormData(event.currentTarget)
          act(() => onSubmit(fields))
        }}
      >
        {children}
        {error !== undefined && <Failure error={error} />}
        <p class="buttons">
          <button type="submit" class={tone} disabled={isBusy}>
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  )
}

/** One of a few; the first of them stands for any where there is `any`. */
export function Choice(props: {
  name: string
  title: string
  options: readonly string[]
  value?: string | undefined
  any?: boolean
  /** Options that are codes of their own, such as currencies. */
  isCode?: boolean
  /** What options are called where their codes do not say it. */
  labels?: Readonly<Record<string, string>>
  onChange?: (value: string) => void
}) {
  const { name, title, options, value = '', any = true, labels = {}, onChange } = props
  const labelOf = (option: string): string =>
    labels[option] ?? (props.isCode === true ? option : sentenceOf(option))
  return (
    <label>
      {title}
      <select name={name} onChange={(event) => onChange?.(event.currentTarget.value)}>
        {any && <option value="">Any</option>}
        {options.map((option) => (
          <option key={option} value={option} selected={option === value}>
            {labelOf(option)}
          </option>
        ))}
      </select>
    </label>
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
