import { checksummed } from '../chain/hex.ts'
import { CURRENCY_DECIMALS, formatAmount, STABLECOIN_DECIMALS } from '../domain/money.ts'
import type { CheckoutPayment } from '../store/rails/checkouts.ts'
import { escapeHtml } from '../wire/html.ts'
import type { CheckoutTerms } from './checkout.ts'

/** What arrived for a charge in another coin or token than the one that it asks for. */
export type Stray = Pick<CheckoutPayment, 'token' | 'amount' | 'payer' | 'transactionHash'>

/** Anybody may send such a payment, so a page shows the newest few. */
export const SHOWN_STRAYS = 3

/** Tells a payer who has paid in it, and nobody else, what to do. Nothing without one. */
export function renderStrays(
  strays: readonly Stray[],
  { unit, terms }: { unit: string; terms: CheckoutTerms },
): string {
  if (strays.length === 0) return ''
  const items = strays.map(
    (stray) => `<li>${escapeHtml(amountOf(stray, terms))} from
            <code>${checksummed(stray.payer)}</code>, in the transaction
            <code>${stray.transactionHash}</code></li>`,
  )
  return `<section class="panel">
        <h2>Arrived in another token</h2>
        <p>This payment is asked for in ${escapeHtml(unit)}. What arrived in another coin or token
          does not count for it. If you sent it, write to the seller and name its transaction. If
          you did not, ignore it.</p>
        <ul class="strays">
          ${items.join('\n          ')}
        </ul>
      </section>`
}

function amountOf({ token, amount }: Stray, terms: CheckoutTerms): string {
  if (token === undefined) {
    return `${formatAmount({ amount, decimals: CURRENCY_DECIMALS.ETH })} ${terms.coin ?? 'ETH'}`
  }
  if (token === terms.stablecoin?.toLowerCase()) {
    const decimal = formatAmount({ amount, decimals: STABLECOIN_DECIMALS })
    return `${decimal} ${terms.tokenSymbol ?? 'dollars'}`
  }
  // A stranger's token may have any symbol, also that of the one that is asked for.
  return `${amount} units of the token ${checksummed(token)}`
}
