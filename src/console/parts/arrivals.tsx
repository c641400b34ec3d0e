import type { ArrivalWire } from '../../wire/group-b/charges.ts'
import { groupDigits } from './format.ts'
import { Amount, Empty, Foreign, Hash, Time } from './parts.tsx'

const VERDICTS: Readonly<Record<ArrivalWire['verdict'], string>> = {
  counted: 'In time',
  late: 'Late',
  wrong_token: 'Another coin, not counted',
}

/** What has come for a crypto checkout, each by its payer. */
export function Arrivals(props: { arrivals: readonly ArrivalWire[]; currency: string }) {
  const { arrivals, currency } = props
  if (arrivals.length === 0) return <Empty title="Nothing has come" />
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">Came</th>
          <th scope="col">Amount</th>
          <th scope="col">Counted as</th>
          <th scope="col">From</th>
          <th scope="col">Hash</th>
        </tr>
      </thead>
      <tbody>
        {arrivals.map((arrival) => (
          <tr key={`${arrival.eth_transaction_hash} ${arrival.log_index}`}>
            <th scope="row">
              <Time iso={arrival.paid_at} />
            </th>
            <td data-column="Amount">
              <ArrivalAmount arrival={arrival} currency={currency} />
            </td>
            <td data-column="Counted as">{VERDICTS[arrival.verdict]}</td>
            <td data-column="From">
              <Hash value={arrival.payer} />
            </td>
            <td data-column="Hash">
              <Hash value={arrival.eth_transaction_hash} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Of a token that the platform does not take, nobody here knows the decimals. */
function ArrivalAmount({ arrival, currency }: { arrival: ArrivalWire; currency: string }) {
  const { token, amount_decimal: decimal, amount_units: units } = arrival
  if (decimal === null) {
    return (
      <>
        <Foreign text={groupDigits(units)} /> units of <Hash value={token ?? ''} />
      </>
    )
  }
  return <Amount decimal={groupDigits(decimal)} currency={token === null ? 'ETH' : currency} />
}
