import type { ArrivalWire } from '../../wire/group-b/charges.ts'
import { Cards } from './cards.tsx'
import { groupDigits } from './format.ts'
import { Amount, Empty, Foreign, Hash, Time } from './parts.tsx'

const VERDICTS: Readonly<Record<ArrivalWire['verdict'], string>> = {
  counted: 'In time',
  late: 'Late',
  wrong_token: 'Another token, not counted',
}

/** What arrived for a crypto checkout, each payment with its payer. */
export function Arrivals({ arrivals }: { arrivals: readonly ArrivalWire[] }) {
  if (arrivals.length === 0) return <Empty title="Nothing has arrived" />
  return (
    <Cards
      rows={arrivals}
      keyOf={(arrival) => `${arrival.eth_transaction_hash} ${arrival.log_index}`}
      columns={{
        Time: (arrival) => <Time iso={arrival.paid_at} />,
        Amount: (arrival) => <ArrivalAmount arrival={arrival} />,
        'Counted as': (arrival) => VERDICTS[arrival.verdict],
        From: (arrival) => <Hash value={arrival.payer} />,
        Hash: (arrival) => <Hash value={arrival.eth_transaction_hash} />,
      }}
    />
  )
}

/** Of a token that the platform does not take, nobody here knows the decimals. */
function ArrivalAmount({ arrival }: { arrival: ArrivalWire }) {
  const { token, currency, amount_decimal: decimal, amount_units: units } = arrival
  if (decimal === null || currency === null) {
    return (
      <>
        <Foreign text={groupDigits(units)} /> units of <Hash value={token ?? ''} />
      </>
    )
  }
  return <Amount decimal={decimal} currency={currency} />
}
