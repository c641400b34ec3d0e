import { renderSVG } from 'uqr'

import { checksummed } from '../chain/address.ts'
import { receivedDecimals } from '../domain/gateways.ts'
import { CURRENCY_DECIMALS, formatAmount } from '../domain/money.ts'
import type { Charge } from '../store/charges.ts'
import type { CheckoutTerms } from './checkout.ts'
import { coinOf, dueOf } from './checkout-judge.ts'

/** What a payer sees: the inside of the document, all text of others in it escaped. */
export type CheckoutPage = {
  title: string
  body: string
  /** Changes whenever the page says something else. */
  state: string
}

/** The page on which a payer sees what to pay, how, and whether it has arrived. */
export function renderCheckout(charge: Charge, terms: CheckoutTerms, now: Date): CheckoutPage {
  const { currency, amount, status, gatewayStatus = 'NEW' } = charge
  const decimals = CURRENCY_DECIMALS[currency]
  const shown = `${formatAmount({ amount, decimals, minDecimals: 2 })} ${currency}`
  const isInTime = charge.expiresAt === undefined || now <= charge.expiresAt
  const isOpen = status === 'pending' && isInTime
  const state = [status, gatewayStatus, charge.received ?? 0n, isOpen].join(' ')
  const news = isOpen ? WAITING : newsOf(charge)
  const isLive = status === 'pending' || status === 'processing'
  const body = `    <main class="checkout" data-state="${state}"${isLive ? ' data-live' : ''}>
      <div class="heading">
        <p class="faint">To pay</p>
        <h1>${shown}</h1>
        <p class="foreign" dir="auto">${escape(charge.description)}</p>
      </div>
      <div class="verdict ${news.tone}" role="status">
        <strong>${escape(news.sentence)}</strong>
        <p>${escape(news.advice)}</p>
      </div>
      ${isOpen ? howToPay(charge, terms) : keepThis(charge)}
      ${isLive ? LIVE : ''}
    </main>
`
  return { title: `${isOpen ? 'Pay' : news.word} ${shown}`, body, state }
}

const LIVE = `<p class="faint" id="connection" role="status"></p>
      <noscript><p>Load this page again to see whether the payment has arrived.</p></noscript>`

const CLOSED = `<section class="panel">
        <h2>This cannot be paid here now</h2>
        <p>Dollars are not taken at the moment. Write to whoever sent you here.</p>
      </section>`

function howToPay(charge: Charge, terms: CheckoutTerms): string {
  const links = linksOf(charge, terms)
  if (links.length === 0) return CLOSED
  const steps = links.map((link, index) => {
    const isAllowance = links.length > 1 && index === 0
    const name = isAllowance ? 'Allow the payment' : 'Pay with a wallet'
    const why = isAllowance
      ? 'Lets the contract take exactly this amount of the token from you.'
      : 'Calls the contract with the reference below.'
    const title = links.length > 1 ? `Step ${index + 1} of ${links.length}` : 'With a wallet'
    return `<section class="panel step">
        <div>
          <h2>${title}</h2>
          <p class="faint">${why}</p>
          <p><a class="button primary" href="${escape(link)}">${name}</a></p>
          <p class="faint">Or scan the code with the wallet of a phone.</p>
        </div>
        ${codeOf(link, name)}
      </section>`
  })
  const until = charge.expiresAt?.toISOString() ?? ''
  return `${steps.join('\n      ')}
      <section class="panel">
        <h2>What the wallet will show</h2>
        <dl class="facts">
          ${factsOf(charge, terms).join('\n          ')}
          <div><dt>Pay until</dt><dd><time datetime="${until}">${until}</time></dd></div>
        </dl>
      </section>`
}

/** The code is dark on white in the dark as well, since not every reader takes it turned. */
function codeOf(link: string, name: string): string {
  return renderSVG(link, { border: 2 }).replace(
    '<svg ',
    `<svg class="code" role="img" aria-label="QR code: ${name}" `,
  )
}

function factsOf(charge: Charge, terms: CheckoutTerms): string[] {
  const { currency } = charge
  const due = formatAmount({ amount: dueOf(charge), decimals: receivedDecimals(charge) })
  const token = coinOf(charge, terms)?.token
  const rows = [
    ['Amount', `${due} ${currency}`, due],
    ...(token === undefined ? [] : [['Token', checksummed(token)]]),
    ['Contract', checksummed(terms.settlement)],
    ['Payee', checksummed(terms.payee)],
    ['Reference', charge.reference ?? ''],
    ['Chain', String(terms.chainId)],
  ]
  return rows.map(([name = '', value = '', copied = value]) => factOf(name, value, copied))
}

function factOf(name: string, value: string, copied: string): string {
  const words = `Copy<span class="hidden"> ${name.toLowerCase()}</span>`
  const copy = `<button type="button" class="quiet" hidden
            data-copy="${escape(copied)}">${words}</button>`
  return `<div><dt>${name}</dt><dd><code>${escape(value)}</code> ${copy}</dd></div>`
}

/** What to name when somebody has to be asked. */
function keepThis(charge: Charge): string {
  const facts = [
    factOf('Payment', charge.externalId ?? '', charge.externalId ?? ''),
    ...(charge.received === undefined ? [] : [receivedOf(charge)]),
  ]
  return `<section class="panel">
        <h2>If you write about it</h2>
        <dl class="facts">
          ${facts.join('\n          ')}
        </dl>
      </section>`
}

function receivedOf(charge: Charge): string {
  const decimals = receivedDecimals(charge)
  const [received, due] = [charge.received ?? 0n, dueOf(charge)].map((amount) =>
    formatAmount({ amount, decimals }),
  )
  const words = `${received} of ${due} ${charge.currency}`
  return factOf('Received', words, received ?? '')
}

/**
 * By EIP-681: a call of the contract with the charge's reference; a token is allowed before. None
 * where nothing can be paid.
 */
export function linksOf(charge: Charge, terms: CheckoutTerms): string[] {
  const { settlement, payee, chainId } = terms
  const coin = coinOf(charge, terms)
  if (coin === undefined) return []
  const contract = `ethereum:${checksummed(settlement)}@${chainId}`
  const reference = charge.reference ?? ''
  const due = dueOf(charge)
  if (coin.token === undefined) {
    return [`${contract}/settle?bytes32=${reference}&address=${checksummed(payee)}&value=${due}`]
  }
  const token = checksummed(coin.token)
  const call = `bytes32=${reference}&address=${token}&address=${checksummed(payee)}&uint256=${due}`
  return [
    `ethereum:${token}@${chainId}/approve?address=${checksummed(settlement)}&uint256=${due}`,
    `${contract}/settleToken?${call}`,
  ]
}

type News = { tone: 'good' | 'waiting' | 'bad'; word: string; sentence: string; advice: string }

const WAITING: News = {
  tone: 'waiting',
  word: 'Pay',
  sentence: 'Waiting for your payment',
  advice: 'It counts once its block is final. This page then says so; leave it open.',
}

const EXPIRED: News = {
  tone: 'bad',
  word: 'Too late to pay',
  sentence: 'The time to pay has passed.',
  advice:
    'Pay nothing here any more. Ask whoever sent you here for a new page. If you have paid ' +
    'already, write to them and name this payment.',
}

/** What is to be said once there is nothing to be paid, and what the payer can do. */
function newsOf({ status, gatewayStatus = '' }: Charge): News {
  if (status === 'refunded') {
    const advice =
      'The money has arrived at the address that was named for it. Pay nothing here any more.'
    return { tone: 'good', word: 'Refunded', sentence: 'This was paid and sent back.', advice }
  }
  if (status === 'completed') {
    const advice =
      gatewayStatus === 'OVERPAID'
        ? 'More than the whole has arrived. Write to whoever sent you here for the rest.'
        : 'There is nothing left to do. You may close this page.'
    return { tone: 'good', word: 'Paid', sentence: 'This is paid. Thank you.', advice }
  }
  if (status === 'failed' && gatewayStatus === 'CANCELED') {
    const advice = 'Pay nothing here. Write to whoever sent you here, and name this payment.'
    return { tone: 'bad', word: 'Refused', sentence: 'This payment was refused.', advice }
  }
  if (status === 'failed' || status === 'pending') return EXPIRED
  const advice = 'Do not pay again. Write to whoever sent you here, and name this payment.'
  const sentence = ARRIVALS[gatewayStatus] ?? 'What has arrived is looked at by people.'
  return { tone: 'waiting', word: 'Looked at:', sentence, advice }
}

const ARRIVALS: Readonly<Record<string, string>> = {
  UNDERPAID: 'Less than the whole has arrived.',
  OVERPAID: 'More than the whole has arrived.',
  DELAYED: 'It has arrived after the time to pay.',
  WRONG_TOKEN: 'It has arrived in another coin.',
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
