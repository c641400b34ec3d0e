import { useEffect, useId, useRef, useState } from 'preact/hooks'

import type { FoundListWire, FoundWire } from '../../wire/group-b/console.ts'
import { usePlatform } from '../context.ts'
import { sentenceOf } from '../parts/format.ts'
import { Amount, Badge, Dialog, Failure, Foreign, Time } from '../parts/parts.tsx'
import { hashOf } from '../route.ts'
import { MENU } from './menu.ts'

const PAUSE_MS = 20

/** Where one is led, whichever kind of thing it is. */
type Hit = { key: string; href: string; group: string; found?: FoundWire; title: string }

/** One search for everything, by keyboard alone: type, choose with the arrows, press Enter. */
export function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const { found, error, isDone } = useFound(text)
  const hits = [...screensFor(text), ...found.map(hitOf)]
  const id = useId()
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => setChosen(0), [text])
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const go = (hit: Hit | undefined): void => {
    if (!hit) return
    onClose()
    location.hash = hit.href
  }
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && hits.length > 0) {
      event.preventDefault()
      setChosen((chosen + step + hits.length) % hits.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      go(hits[chosen])
    }
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-label="Search for anything"
        aria-expanded={hits.length > 0}
        aria-controls={id}
        aria-activedescendant={hits[chosen] ? `${id}-${chosen}` : undefined}
        placeholder="Id, hash, user, amount or words"
        maxLength={128}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
      />
      {error !== undefined && <Failure error={error} />}
      <ul id={id} ref={list} class="hits" role="listbox" aria-label="Results">
        {hits.map((hit, place) => (
          <li
            key={hit.key}
            id={`${id}-${place}`}
            role="option"
            aria-selected={place === chosen}
            onClick={() => go(hit)}
          >
            <HitLine hit={hit} />
          </li>
        ))}
      </ul>
      <p class="faint" role="status">
        {isDone &&
          hits.length === 0 &&
          'Nothing found. Of a description, type whole words or the beginning of the last one.'}
      </p>
    </Dialog>
  )
}

function HitLine({ hit }: { hit: Hit }) {
  const { found, group, title } = hit
  return (
    <>
      <span class="kind">{group}</span>
      <span class="what">
        <Foreign text={title} />
        {found && found.kind !== 'user' && <code class="faint">{found.id}</code>}
      </span>
      {found && (
        <span class="end">
          {found.amount_decimal !== null && (
            <Amount decimal={found.amount_decimal} currency={found.currency ?? ''} />
          )}{' '}
          {found.status !== null && <Badge state={found.status} />}{' '}
          {found.amount_decimal === null && found.created_at !== null && (
            <Time iso={found.created_at} />
          )}
        </span>
      )}
    </>
  )
}

/** The screens whose titles begin so are found without asking anybody. */
function screensFor(text: string): Hit[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  return MENU.flatMap(({ screens }) => screens)
    .filter(({ title }) => title.toLowerCase().startsWith(wanted))
    .map(({ name, title, query }) => ({
      key: `screen ${title}`,
      href: hashOf([name], query),
      group: 'Screen',
      title,
    }))
}

function hitOf(found: FoundWire): Hit {
  const { kind, id, title } = found
  return {
    key: `${kind} ${id}`,
    href: hashOf(...placeOf(found)),
    group: sentenceOf(kind),
    found,
    title: kind === 'break' || kind === 'transfer' ? sentenceOf(title) : title,
  }
}

function placeOf({ kind, id }: FoundWire): Parameters<typeof hashOf> {
  switch (kind) {
    case 'transaction':
      return [['transactions', id]]
    case 'batch':
      return [['batches', id]]
    case 'break':
      return [['breaks', id]]
    case 'run':
      return [['runs', id]]
    case 'wallet':
      return [['wallets', id]]
    case 'transfer':
      return [['wallets', 'postings', id]]
    case 'user':
      return [['transactions'], { user_id: id }]
    default:
      return kind satisfies never
  }
}

/** Asks once the typing pauses; what an earlier text found stays until there is something newer. */
function useFound(text: string) {
  const { api } = usePlatform()
  const [state, setState] = useState<{ found: FoundWire[]; error?: unknown; isDone: boolean }>(NONE)
  useEffect(() => {
    const q = text.trim()
    if (q === '') return setState(NONE)
    const abort = new AbortController()
    const { signal } = abort
    const timer = setTimeout(() => {
      api
        .get<FoundListWire>('/api/admin/search', { query: { q }, signal })
        .then(({ found }) => setState({ found, isDone: true }))
        .catch((error: unknown) => {
          if (!signal.aborted) setState({ found: [], error, isDone: true })
        })
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [api, text])
  return state
}

const NONE = { found: [], isDone: false }
