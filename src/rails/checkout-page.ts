import { renderSVG } from 'uqr'

import { escapeHtml } from '../wire/html.ts'
import { checksummed } from '../chain/hex.ts'
import { dueOf, isDust, receivedDecimals } from '../domain/gateways.ts'
import { formatAmount } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { CheckoutPermit } from '../wire/checkout-permit.ts'
import { partReferences } from '../domain/reference.ts'
import type { Charge } from '../store/rails/charges.ts'
import { coinOf } from './checkout-judge.ts'
import { renderStrays, type Stray } from './checkout-strays.ts'
import type { CheckoutTerms } from './checkout.ts'

/** What a payer sees: the inside of the document, all text of others in it escaped. */
export type CheckoutPage = {
  title: string
  body: string
  /** Changes whenever the page says something else. */
  state: string
}

/** A charge, and what arrived for it in the right coin under each of its references. */
type Paid = {
  charge: Charge
  paidUnder: ReadonlyMap<Hex, bigint>
  /** What arrived in blocks that are not final yet. */
  seen?: bigint | undefined
  /** The newest that arrived in another coin or token. */
  strays?: readonly Stray[]
}

/** The page on which a payer sees what to pay, how, and whether it has arrived. */
export function renderCheckout(paid: Paid, terms: CheckoutTerms, now: Date): CheckoutPage {
  const { charge, seen = 0n, strays = [] } = paid
  const { status, gatewayStatus = 'NEW', received = 0n } = charge
  const isInTime = charge.expiresAt === undefined || now <= charge.expiresAt
  const isLive = status === 'pending' || status === 'processing'
  const isSeen = isLive && seen > 0n && !isDust({ amount: seen, due: dueOf(charge) })
  const isOpen = isLive && isInTime && gatewayStatus !== 'DELAYED'
  const newest = strays[0]?.transactionHash ?? ''
  const state = [status, gatewayStatus, received, isOpen, seen, newest].join(' ').trim()
  const unit = unitOf(charge, terms)
  const asked = isOpen ? remainingOf(charge) : dueOf(charge)
  const shown = `${decimalOf(charge, asked)} ${unit}`
  const news = isSeen ? seenOf({ charge, seen, unit }) : newsNow({ charge, isOpen, unit })
  const body = `    <main class="checkout" data-state="${state}"${isLive ? ' data-live' : ''}>
      <div class="heading">
        <p class="faint">${isOpen && !isSeen ? 'To pay' : 'Payment'}</p>
        <h1>${escapeHtml(shown)}</h1>
        ${aboutOf({ charge, unit, asked, seller: terms.seller })}
        <p class="foreign" dir="auto">${escapeHtml(charge.description)}</p>
      </div>
      <div class="verdict ${news.tone}" role="status">
        <strong>${escapeHtml(news.sentence)}</strong>
        <p>${escapeHtml(news.advice)}</p>
      </div>
      ${renderStrays(strays, { unit, terms })}
      ${isOpen && !isSeen ? howToPay(paid, terms) : keepThis(charge, unit)}
      ${isLive ? LIVE : ''}
    </main>
`
  const title = escapeHtml(`${isOpen && !isSeen ? 'Pay' : news.word} ${shown}`)
  return { title, body, state }
}

/** Whom one pays, and what a token stands for: wallets show its symbol and no dollars. */
function aboutOf(of: {
  charge: Charge
  unit: string
  asked: bigint
  seller: string | undefined
}): string {
  const { charge, unit, asked, seller } = of
  const { currency } = charge
  const price = `${decimalOf(charge, asked)} ${currency}. One ${unit} stands for one dollar.`
  return [
    ...(seller === undefined ? [] : [`<p>To ${escapeHtml(seller)}</p>`]),
    ...(unit === currency ? [] : [`<p class="faint">${escapeHtml(price)}</p>`]),
  ].join('\n        ')
}

/** What a wallet shows next to the amount. */
function unitOf({ currency }: Charge, { tokenSymbol }: CheckoutTerms): string {
  return currency === 'ETH' ? currency : (tokenSymbol ?? currency)
}

function remainingOf(charge: Charge): bigint {
  const remaining = dueOf(charge) - (charge.received ?? 0n)
  return remaining > 0n ? remaining : 0n
}

function decimalOf(charge: Charge, amount: bigint, minDecimals = 2): string {
  return formatAmount({ amount, decimals: receivedDecimals(charge), minDecimals })
}

/** What the page asks for now: what is missing, under a reference that can still be settled. */
type Asking = { charge: Charge; amount: bigint; reference: Hex }

/**
 * A payer can settle a reference only once, so a payer of a part finds another one here. The page
 * offers the first reference with the smallest total. It offers a customer's reference again only
 * after others have paid as much under each of the 255 others.
 */
function askingOf({ charge, paidUnder }: Paid): Asking | undefined {
  if (charge.reference === undefined) return undefined
  const [first, ...others] = partReferences(charge.reference)
  const under = (reference: Hex): bigint => paidUnder.get(reference) ?? 0n
  const reference = others.reduce(
    (least, one) => (under(one) < under(least) ? one : least),
    first ?? charge.reference,
  )
  return { charge, amount: remainingOf(charge), reference }
}

const LIVE = `<p class="faint" id="connection" role="status"></p>
      <noscript><p>Load this page again to see whether the payment has arrived.</p></noscript>`

const CLOSED = `<section class="panel">
        <h2>This cannot be paid here now</h2>
        <p>Dollars are not accepted now. Ask the seller what to do.</p>
      </section>`

function howToPay(paid: Paid, terms: CheckoutTerms): string {
  const { charge } = paid
  const asking = askingOf(paid)
  const links = asking === undefined ? [] : linksOf(asking, terms)
  if (asking === undefined || links.length === 0) return CLOSED
  const token = escapeHtml(terms.tokenName ?? 'the token')
  const permit = permitOf(asking, terms)
  const steps = links.map((link, index) => {
    const isAllowance = links.length > 1 && index === 0
    const name = isAllowance ? 'Allow the payment' : 'Pay with a wallet'
    const why = isAllowance
      ? `Allows the contract to take exactly this amount of ${token} from you.`
      : 'Calls the contract with the reference below.'
    const title = links.length > 1 ? `Step ${index + 1} of ${links.length}` : 'With a wallet'
    return `<section class="panel step">
        <div>
          <h2>${title}</h2>
          <p class="faint">${why}</p>
          <p class="ways"><a class="button primary" href="${escapeHtml(link)}">${name}</a></p>
          <p class="faint">Or scan the code with a wallet on a phone.</p>
        </div>
        ${codeOf(link, name)}
      </section>`
  })
  const until = charge.expiresAt?.toISOString() ?? ''
  return `${[...(permit === undefined ? [] : [inOneStep(permit)]), ...steps].join('\n      ')}
      <section class="panel">
        <h2>What the wallet will show</h2>
        <dl class="facts">
          ${factsOf(asking, terms).join('\n          ')}
          <div><dt>Pay until</dt><dd><time datetime="${until}">${until}</time></dd></div>
        </dl>
      </section>`
}

/** Shown to a browser with a wallet, which adds the button. The steps below do the same. */
function inOneStep(permit: CheckoutPermit): string {
  const data = escapeHtml(JSON.stringify(permit))
  return `<section class="panel step" data-permit="${data}" hidden>
        <div>
          <h2>In one step</h2>
          <p class="faint">Your wallet asks you to sign a permit for exactly this amount, and then
            to send the payment. Nothing stays allowed. If your wallet cannot sign a permit, use the
            two steps below.</p>
          <p class="ways"></p>
        </div>
      </section>`
}

/** The code is dark on white in the dark as well, since not every reader takes it turned. */
function codeOf(link: string, name: string): string {
  return renderSVG(link, { border: 2 }).replace(
    '<svg ',
    `<svg class="code" role="img" aria-label="QR code: ${name}" `,
  )
}

function factsOf({ charge, amount, reference }: Asking, terms: CheckoutTerms): string[] {
  const unit = unitOf(charge, terms)
  const due = decimalOf(charge, amount, 0)
  const token = coinOf(charge, terms)?.token
  const rows = [
    ['Amount', `${due} ${unit}`, due],
    ...(token === undefined
      ? []
      : [['Token', nameOf(checksummed(token), terms), checksummed(token)]]),
    ['Contract', checksummed(terms.settlement)],
    ['Payee', checksummed(terms.payee)],
    ['Reference', reference],
    ['Chain', String(terms.chainId)],
  ]
  const facts = rows.map(([name = '', value = '', copied = value]) => factOf(name, value, copied))
  return charge.received ? [receivedOf(charge, unit), ...facts] : facts
}

/** As a person knows it, with the address that decides. */
function nameOf(token: string, { tokenName }: CheckoutTerms): string {
  return tokenName === undefined ? token : `${tokenName}, ${token}`
}

function factOf(name: string, value: string, copied: string): string {
  const words = `Copy<span class="hidden"> ${name.toLowerCase()}</span>`
  const copy = `<button type="button" class="quiet" hidden
            data-copy="${escapeHtml(copied)}">${words}</button>`
  return `<div><dt>${name}</dt><dd><code>${escapeHtml(value)}</code> ${copy}</dd></div>`
}

/** What to name when somebody has to be asked. */
function keepThis(charge: Charge, unit: string): string {
  const facts = [
    factOf('Payment', charge.externalId ?? '', charge.externalId ?? ''),
    ...(charge.received === undefined ? [] : [receivedOf(charge, unit)]),
  ]
  return `<section class="panel">
        <h2>If you write about it</h2>
        <dl class="facts">
          ${facts.join('\n          ')}
        </dl>
      </section>`
}

function receivedOf(charge: Charge, unit: string): string {
  const [received, due] = [charge.received ?? 0n, dueOf(charge)].map((amount) =>
    decimalOf(charge, amount, 0),
  )
  const words = `${received} of ${due} ${unit}`
  return factOf('Received', words, received ?? '')
}

/**
 * By EIP-681: a call of the contract with the charge's reference; a token is allowed before. None
 * where nothing can be paid.
 */
function linksOf({ charge, amount, reference }: Asking, terms: CheckoutTerms): string[] {
  const { settlement, payee, chainId } = terms
  const coin = coinOf(charge, terms)
  if (coin === undefined) return []
  const contract = `ethereum:${checksummed(settlement)}@${chainId}`
  if (coin.token === undefined) {
    return [`${contract}/settle?bytes32=${reference}&address=${checksummed(payee)}&value=${amount}`]
  }
  const token = checksummed(coin.token)
  const to = checksummed(payee)
  const call = `bytes32=${reference}&address=${token}&address=${to}&uint256=${amount}`
  return [
    `ethereum:${token}@${chainId}/approve?address=${checksummed(settlement)}&uint256=${amount}`,
    `${contract}/settleToken?${call}`,
  ]
}

/** For what is asked now. A permit that is used too late fails, so that no money arrives late. */
function permitOf(asking: Asking, terms: CheckoutTerms): CheckoutPermit | undefined {
  const { charge, amount, reference } = asking
  const token = coinOf(charge, terms)?.token
  const { permitDomain: domain, chainId, settlement, payee } = terms
  if (token === undefined || domain === undefined || charge.expiresAt === undefined)
    return undefined
  return {
    chainId,
    token,
    settlement,
    payee,
    reference,
    amount: String(amount),
    deadline: Math.floor(charge.expiresAt.getTime() / 1000),
    name: domain.name,
    version: domain.version,
  }
}

type PageNotice = {
  tone: 'good' | 'waiting' | 'bad'
  word: string
  sentence: string
  advice: string
}

const WAITING: PageNotice = {
  tone: 'waiting',
  word: 'Pay',
  sentence: 'Waiting for your payment',
  advice: 'It counts when its block is final. Leave this page open: it shows when that happens.',
}

function partOf(charge: Charge, unit: string): PageNotice {
  const [received, due, missing] = [charge.received ?? 0n, dueOf(charge), remainingOf(charge)].map(
    (amount) => decimalOf(charge, amount),
  )
  return {
    tone: 'waiting',
    word: 'Pay',
    sentence: `${received} of ${due} ${unit} has arrived.`,
    advice:
      `Pay the remaining ${missing} ${unit} below. If you have sent a payment that ` +
      'is not shown yet, wait for it first: it counts when its block is final.',
  }
}

const EXPIRED: PageNotice = {
  tone: 'bad',
  word: 'Too late to pay',
  sentence: 'The time to pay has passed.',
  advice:
    'Do not pay here any longer. Ask the seller for a new page. If you have paid ' +
    'already, write to the seller and name this payment.',
}

function newsNow(of: { charge: Charge; isOpen: boolean; unit: string }): PageNotice {
  const { charge, isOpen, unit } = of
  if (!isOpen) return newsOf(charge)
  return charge.received ? partOf(charge, unit) : WAITING
}

/** The payment may still leave the chain, so it is only seen. A payer who pays again pays twice. */
function seenOf(of: { charge: Charge; seen: bigint; unit: string }): PageNotice {
  const { charge, seen, unit } = of
  return {
    tone: 'waiting',
    word: 'Seen:',
    sentence: 'Payment seen, waiting to be final.',
    advice:
      `${decimalOf(charge, seen)} ${unit} is in a block. Do not pay again: leave this ` +
      'page open, it says when the payment counts.',
  }
}

/** What is to be said once there is nothing to be paid, and what the payer can do. */
function newsOf({ status, gatewayStatus = '' }: Charge): PageNotice {
  if (status === 'refunded') {
    const advice = 'The money arrived at the address for the refund. Do not pay here any longer.'
    return { tone: 'good', word: 'Refunded', sentence: 'This payment was refunded.', advice }
  }
  if (status === 'completed') {
    const advice =
      gatewayStatus === 'OVERPAID'
        ? 'More than the amount arrived. Write to the seller if you have paid too much.'
        : 'You have nothing left to do. You can close this page.'
    return { tone: 'good', word: 'Paid', sentence: 'This is paid. Thank you.', advice }
  }
  if (status === 'failed' && gatewayStatus === 'CANCELED') {
    const advice = 'Do not pay here. Write to the seller, and name this payment.'
    return { tone: 'bad', word: 'Refused', sentence: 'This payment was refused.', advice }
  }
  if (status === 'failed' || status === 'pending') return EXPIRED
  const advice = 'Do not pay again. Write to the seller, and name this payment.'
  const sentence = ARRIVALS[gatewayStatus] ?? 'A person decides about what arrived.'
  return { tone: 'waiting', word: 'Looked at:', sentence, advice }
}

const ARRIVALS: Readonly<Record<string, string>> = {
  UNDERPAID: 'Less than the whole amount arrived in time.',
  DELAYED: 'It arrived after the time to pay.',
}
