import type { CheckoutPermit } from '../wire/checkout-permit.ts'
import { callOf, payByPermit, payWith, type AnnouncedWallet } from './checkout-wallet.ts'
import { formatDuration, formatTime, zoneOf } from './parts/format.ts'
import './theme.css'
import './checkout.css'

/**
 * The payer's page arrives complete from the platform. This program keeps it up to date, and adds
 * what helps a person: local times, and buttons that copy or open a wallet.
 */
const page = document.querySelector<HTMLElement>('main[data-state]')
if (page) {
  tellTimes(page)
  offerCopies(page)
  findWallets((wallet) => offerWallet(page, wallet))
  if (page.dataset['live'] !== undefined) void follow(page)
}

function tellTimes(page: HTMLElement): void {
  for (const time of page.querySelectorAll('time')) {
    const tell = (): void => {
      const left = (Date.parse(time.dateTime) - Date.now()) / 1000
      const words = left > 0 ? `${formatDuration(left)} left` : 'over'
      time.textContent = `${formatTime(time.dateTime)} ${zoneOf(time.dateTime)} (${words})`
    }
    tell()
    setInterval(tell, 1000)
  }
}

/** Reports each wallet that announces itself. Some do so late. */
function findWallets(onWallet: (wallet: AnnouncedWallet) => void): void {
  const known = new Set<string>()
  addEventListener('eip6963:announceProvider', (event) => {
    const { detail } = event as CustomEvent<AnnouncedWallet>
    if (known.has(detail.info.uuid)) return
    known.add(detail.info.uuid)
    onWallet(detail)
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
}

/** Adds a button of the wallet next to each link, which only wallets of phones follow. */
function offerWallet(page: HTMLElement, wallet: AnnouncedWallet): void {
  const { name } = wallet.info
  for (const panel of page.querySelectorAll<HTMLElement>('[data-permit]')) {
    const permit = JSON.parse(panel.dataset['permit'] ?? '') as CheckoutPermit
    panel.hidden = false
    const ways = panel.querySelector('.ways')
    const [button, note] = buttonOf(`Pay with ${name}`, name, () => payByPermit(wallet, permit))
    ways?.append(button)
    ways?.after(note)
  }
  for (const link of page.querySelectorAll<HTMLAnchorElement>('a.button[href^="ethereum:"]')) {
    const call = callOf(link.getAttribute('href') ?? '')
    if (call === undefined) continue
    const verb = link.textContent === 'Allow the payment' ? 'Allow' : 'Pay'
    const [button, note] = buttonOf(`${verb} with ${name}`, name, () => payWith(wallet, call))
    link.parentElement?.append(button)
    link.parentElement?.after(note)
  }
}

/** A button, and the line under it that says what the wallet did. */
function buttonOf(
  words: string,
  wallet: string,
  pay: () => Promise<string>,
): [HTMLButtonElement, HTMLElement] {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'primary wallet'
  button.textContent = words
  const note = document.createElement('p')
  note.setAttribute('role', 'status')
  button.addEventListener('click', () => {
    button.disabled = true
    note.textContent = `Confirm it in ${wallet}.`
    pay().then(
      () =>
        (note.textContent = 'Sent. This page shows when it is in a block and when it is final.'),
      (error: unknown) => {
        button.disabled = false
        note.textContent = `${wallet} did not send it: ${reasonOf(error)}`
      },
    )
  })
  return [button, note]
}

/** A wallet's error is an object with a message, and no `Error`. */
function reasonOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message.slice(0, 200) : 'it gave no reason.'
}

function offerCopies(page: HTMLElement): void {
  for (const button of page.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
    button.hidden = false
    button.addEventListener('click', () => void copy(button))
  }
}

async function copy(button: HTMLButtonElement): Promise<void> {
  const [text] = button.childNodes
  if (!text) return
  try {
    // Without https there is no clipboard; with it, a browser may still refuse.
    await navigator.clipboard.writeText(button.dataset['copy'] ?? '')
    text.textContent = 'Copied'
    setTimeout(() => (text.textContent = 'Copy'), 1500)
  } catch {
    const shown = button.parentElement?.querySelector('code')
    if (shown) getSelection()?.selectAllChildren(shown)
    text.textContent = 'Selected; copy it by hand:'
  }
}

const PAUSE_MS = 2000
const MOST_PAUSE_MS = 15_000

/** Reloads the page once it would say something else. Reports and retries a lost connection. */
async function follow(page: HTMLElement): Promise<void> {
  const note = document.querySelector('#connection')
  const say = (words: string): void => {
    if (note && note.textContent !== words) note.textContent = words
  }
  for (let pauseMs = PAUSE_MS; ;) {
    const state = await readState().catch(() => undefined)
    if (state !== undefined && state !== page.dataset['state']) return location.reload()
    say(state === undefined ? LOST : 'This page is live.')
    pauseMs = state === undefined ? Math.min(pauseMs * 2, MOST_PAUSE_MS) : PAUSE_MS
    await new Promise((later) => setTimeout(later, pauseMs))
  }
}

const LOST =
  'The connection is lost. This page connects again. A payment that you have sent still counts.'

async function readState(): Promise<string> {
  const response = await fetch(`${location.pathname}/state.json`, { cache: 'no-store' })
  if (!response.ok) throw new Error(`answered ${response.status}`)
  return ((await response.json()) as { state: string }).state
}
