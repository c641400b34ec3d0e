import { renderSVG } from 'uqr'

import { checksummed } from '../chain/address.ts'
import { receivedDecimals } from '../domain/gateways.ts'
import { CURRENCY_DECIMALS, formatAmount } from '../domain/money.ts'
import type { Charge } from '../store/charges.ts'
import { dueOf, type CheckoutTerms } from './checkout.ts'

/** The page on which a payer sees what to pay, and how. It holds no script. */
export function renderCheckout(charge: Charge, terms: CheckoutTerms, now: Date): string {
  const { currency, amount, gatewayStatus = 'NEW' } = charge
  const shown = formatAmount({ amount, decimals: CURRENCY_DECIMALS[currency], minDecimals: 2 })
  const isInTime = charge.expiresAt === undefined || now <= charge.expiresAt
  const isOpen = charge.status === 'pending' && isInTime
  const body = isOpen ? howToPay(charge, terms) : `<p>${escape(wordsOf(charge))}</p>`
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    ${isOpen || charge.status === 'processing' ? '<meta http-equiv="refresh" content="10">' : ''}
    <title>Pay ${shown} ${currency}</title>
  </head>
  <body>
    <h1>${shown} ${currency}</h1>
    <p>${escape(charge.description)}</p>
    ${body}
    <p>State: <strong>${escape(gatewayStatus)}</strong></p>
  </body>
</html>
`
}

function howToPay(charge: Charge, terms: CheckoutTerms): string {
  const [first, ...more] = linksOf(charge, terms)
  const due = formatAmount({ amount: dueOf(charge), decimals: receivedDecimals(charge) })
  const unit = charge.currency === 'ETH' ? 'ETH' : `of the token ${terms.stablecoin}`
  const links = [first, ...more].map((link, index) => {
    const name = more.length > 0 && index === 0 ? 'Allow the payment' : 'Pay with a wallet'
    return `<p><a href="${escape(link ?? '')}">${name}</a></p>`
  })
  const last = more.at(-1) ?? first ?? ''
  return `<dl>
      <dt>Amount</dt><dd>${due} ${escape(unit)}</dd>
      <dt>Contract</dt><dd><code>${checksummed(terms.settlement)}</code></dd>
      <dt>Payee</dt><dd><code>${checksummed(terms.payee)}</code></dd>
      <dt>Reference</dt><dd><code>${charge.reference ?? ''}</code></dd>
      <dt>Chain</dt><dd>${terms.chainId}</dd>
      <dt>Until</dt><dd>${charge.expiresAt?.toISOString() ?? ''}</dd>
    </dl>
    ${links.join('\n    ')}
    ${renderSVG(last)}`
}

/** By EIP-681: a call of the contract with the charge's reference; a token is allowed before. */
export function linksOf(charge: Charge, terms: CheckoutTerms): string[] {
  const { settlement, payee, stablecoin, chainId } = terms
  const contract = `ethereum:${checksummed(settlement)}@${chainId}`
  const reference = charge.reference ?? ''
  const due = dueOf(charge)
  if (charge.currency === 'ETH' || stablecoin === undefined) {
    return [`${contract}/settle?bytes32=${reference}&address=${checksummed(payee)}&value=${due}`]
  }
  const token = checksummed(stablecoin)
  const call = `bytes32=${reference}&address=${token}&address=${checksummed(payee)}&uint256=${due}`
  return [
    `ethereum:${token}@${chainId}/approve?address=${checksummed(settlement)}&uint256=${due}`,
    `${contract}/settleToken?${call}`,
  ]
}

function wordsOf({ status, gatewayStatus }: Charge): string {
  if (status === 'completed' || status === 'refunded') return 'This is paid. Thank you.'
  if (status === 'failed' || status === 'pending') {
    return 'The time to pay has passed. Pay nothing here any more.'
  }
  return gatewayStatus === 'UNDERPAID'
    ? 'Less than the whole has arrived. Write to whoever sent you here.'
    : 'What has arrived is looked at by people. Write to whoever sent you here.'
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
