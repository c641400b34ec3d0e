import { useMemo, useState } from 'preact/hooks'

import { useAct } from '../act.ts'
import { usePlatform } from '../context.ts'
import { Cards } from '../parts/cards.tsx'
import { useChainChoice } from '../parts/chain-choice.tsx'
import { formatUnits, groupDigits, plural } from '../parts/format.ts'
import { Amount, Choice, Failure, Foreign, Heading, Panel } from '../parts/parts.tsx'
import {
  readPaymentsCsv,
  sumOf,
  TEMPLATE,
  type CsvBatch,
  type CsvPayment,
} from '../parts/payments-csv.ts'
import { saveFile } from '../parts/save-file.ts'
import { hashOf } from '../route.ts'
import { currenciesOf, From, Tabs, useBalance } from './send.tsx'

type Estimate = {
  coin: string
  chain_transactions: number
  gas: number
  fee_wei: string
  contracts: number[]
}

/** Shown of a file that may have a thousand. */
const SHOWN = 50

/** A batch from a file: each payment is shown, and what it would cost, before anything is sent. */
export function SendBatchScreen() {
  const { chain, choice } = useChainChoice()
  const balance = useBalance(chain)
  const [file, setFile] = useState<CsvBatch>()
  const [chosen, setCurrency] = useState<string>()
  const [onFailure, setOnFailure] = useState('all_or_nothing')
  const currencies = currenciesOf(balance.data)
  // What another chain has is not what this one has.
  const [coin = 'ETH'] = currencies
  const currency = currencies.find((one) => one === chosen) ?? coin
  const read = async (picked: File | undefined): Promise<void> => {
    setFile(undefined)
    if (picked) setFile(readPaymentsCsv(await picked.text()))
  }
  return (
    <>
      <Heading>Send a batch</Heading>
      <Tabs of="batch" />
      <div class="panels two">
        <Panel title="Batch">
          <div class="act">
            <label>
              CSV file with the columns to_address, amount, description and external_id
              <input
                type="file"
                accept=".csv,text/csv"
                // Choosing a corrected file again does not fire a change event by itself.
                onClick={(event) => (event.currentTarget.value = '')}
                onChange={(event) => void read(event.currentTarget.files?.[0])}
              />
            </label>
            <Template />
            {choice}
            <Choice
              name="currency"
              title="Currency"
              options={currencies}
              value={currency}
              any={false}
              isCode
              onChange={setCurrency}
            />
            <Choice
              name="on_failure"
              title="If one payment cannot be made"
              options={['all_or_nothing', 'each']}
              labels={{ all_or_nothing: 'Pay none', each: 'Pay the others' }}
              value={onFailure}
              any={false}
              onChange={setOnFailure}
            />
          </div>
        </Panel>
        <From of={balance} />
      </div>
      {file && file.problems.length > 0 && <Problems problems={file.problems} />}
      {file && file.problems.length === 0 && (
        <Preview
          key={`${chain} ${currency}`}
          chain={chain}
          payments={file.payments}
          currency={currency}
          onFailure={onFailure}
        />
      )}
    </>
  )
}

function saveTemplate(): void {
  saveFile({ name: 'batch.csv', type: 'text/csv', body: TEMPLATE })
}

function Template() {
  return (
    <p class="buttons">
      <button type="button" onClick={saveTemplate}>
        Download a template
      </button>
    </p>
  )
}

function Problems({ problems }: { problems: readonly string[] }) {
  return (
    <div class="failure" role="alert">
      <p>The file cannot be sent. Correct it and choose it again.</p>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>
            <Foreign text={problem} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function Preview(props: {
  chain: string | undefined
  payments: CsvPayment[]
  currency: string
  onFailure: string
}) {
  const { chain, payments, currency, onFailure } = props
  const { api } = usePlatform()
  const estimating = useAct()
  const sending = useAct()
  const [estimate, setEstimate] = useState<Estimate>()
  const batch = { chain, currency, on_failure: onFailure, items: payments }
  const key = useMemo(() => crypto.randomUUID(), [chain, payments, currency, onFailure])
  const ask = async (): Promise<void> => {
    setEstimate(await api.post<Estimate>('/api/blockchain/batches/estimate', batch))
  }
  const send = async (): Promise<void> => {
    const made = await api.post<{ batch_id: string }>('/api/blockchain/batches', batch, key)
    location.hash = hashOf(['batches', made.batch_id])
  }
  const total = sumOf(payments.map(({ amount }) => amount))
  const error = sending.error ?? estimating.error
  return (
    <>
      <div class="panels two">
        <Panel
          title="Summary"
          facts={[
            ['Payments', plural(payments.length, 'payment')],
            ...(chain === undefined ? [] : [['Chain', chain] as const]),
            ['In all', <Amount decimal={total} currency={currency} />],
            ['If one fails', onFailure === 'each' ? 'the others are paid' : 'none is paid'],
            ...(estimate ? estimateRows(estimate) : []),
          ]}
        >
          {error !== undefined && <Failure error={error} />}
          <p class="buttons">
            <button
              type="button"
              class="primary"
              disabled={sending.isBusy}
              onClick={() => sending.act(send)}
            >
              {sending.isBusy ? 'Send …' : `Send ${plural(payments.length, 'payment')}`}
            </button>
            <button type="button" disabled={estimating.isBusy} onClick={() => estimating.act(ask)}>
              Estimate the fee
            </button>
          </p>
        </Panel>
      </div>
      <h2 class="part">Payments</h2>
      <Cards
        rows={payments.slice(0, SHOWN).map((payment, place) => ({ ...payment, place }))}
        keyOf={(payment) => payment.place}
        columns={{
          Line: (payment) => String(payment.place + 2),
          To: (payment) => <code>{payment.to_address}</code>,
          Amount: (payment) => <Amount decimal={payment.amount} currency={currency} />,
          Description: (payment) => <Foreign text={payment.description ?? 'Payment of a batch'} />,
          'External id': (payment) => <Foreign text={payment.external_id ?? 'none'} />,
        }}
      />
      {payments.length > SHOWN && (
        <p class="faint">And {plural(payments.length - SHOWN, 'more payment')}.</p>
      )}
    </>
  )
}

function estimateRows(estimate: Estimate) {
  const { coin, chain_transactions: count, gas, fee_wei: fee, contracts } = estimate
  return [
    ['Transactions on chain', groupDigits(count)],
    ['Gas at most', groupDigits(gas)],
    ['Fee at most', <Amount decimal={formatUnits(BigInt(fee), 18)} currency={coin} />],
    ...(contracts.length > 0
      ? [['Payees with code', `${contracts.length}, which can refuse`] as const]
      : []),
  ] as const
}
