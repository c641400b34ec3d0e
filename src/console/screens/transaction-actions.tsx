import { useState } from 'preact/hooks'

import type { TransactionLifeWire } from '../../wire/group-b/admin.ts'
import type { RunWire } from '../../wire/group-b/reconciliation.ts'
import { useAct } from '../act.ts'
import type { Api } from '../api.ts'
import { usePlatform } from '../context.ts'
import { compareDecimals } from '../parts/format.ts'
import { Amount, Failure, FormDialog } from '../parts/parts.tsx'
import { hashOf } from '../route.ts'

type Props = { life: TransactionLifeWire; reload: () => void }

/** What an operator can do about one transaction. */
export function TransactionActions({ life, reload }: Props) {
  const { api } = usePlatform()
  const { act, isBusy, error } = useAct()
  const [checked, setChecked] = useState<RunWire>()
  const [isRefunding, setRefunding] = useState(false)
  const recheck = async (): Promise<void> => {
    setChecked(undefined)
    setChecked(await checkAgain(api, life))
    reload()
  }
  const close = (): void => {
    setRefunding(false)
    reload()
  }
  return (
    <>
      <p class="buttons">
        {life.eth_transaction_hash !== null && (
          <button type="button" disabled={isBusy} onClick={() => act(recheck)}>
            {isBusy ? 'Checking …' : 'Check again'}
          </button>
        )}
        {leftOf(life) !== undefined && (
          <button type="button" onClick={() => setRefunding(true)}>
            Refund
          </button>
        )}
      </p>
      {error !== undefined && <Failure error={error} />}
      <p role="status">{checked && <Outcome run={checked} against={life.disputed_by.length} />}</p>
      {isRefunding && <RefundDialog life={life} onClose={close} />}
    </>
  )
}

/** The run also looks at signers and repeats, so its breaks may be about something else. */
function Outcome({ run, against }: { run: RunWire; against: number }) {
  const link = <a href={hashOf(['runs', run.run_id])}>See the run</a>
  if (run.state !== 'completed') return <>The check has not ended yet. {link}</>
  if (against > 0) return <>The record and the chain disagree. {link}</>
  return run.matched > 0 ? (
    <>The record and the chain agree. {link}</>
  ) : (
    <>Nothing can be compared yet. {link}</>
  )
}

/** A run over the records of this one moment; the run's page says who asked for it. */
async function checkAgain(api: Api, life: TransactionLifeWire): Promise<RunWire> {
  const since = life.created_at
  const until = new Date(Date.parse(since) + 1).toISOString()
  let { run } = await api.post<{ run: RunWire }>('/api/runs', { since, until })
  for (let tries = 0; tries < MOST_TRIES && isOpen(run); tries += 1) {
    await new Promise((later) => setTimeout(later, PAUSE_MS))
    run = (await api.get<{ run: RunWire }>(`/api/runs/${run.run_id}`)).run
  }
  return run
}

const PAUSE_MS = 400
const MOST_TRIES = 75

function isOpen({ state }: RunWire): boolean {
  return state === 'queued' || state === 'running'
}

/** How much of a payment at a gateway can still go back; undefined where nothing can. */
function leftOf(life: TransactionLifeWire): string | undefined {
  if (life.gateway_id === null || life.status !== 'completed') return undefined
  // The payer's bank has taken the money back.
  if (life.disputes.some(({ status }) => status === 'lost')) return undefined
  const taken = life.refunds.filter(({ status }) => status !== 'failed')
  let left = life.amount_decimal
  for (const { amount_decimal: amount } of taken) {
    const { sign, difference } = compareDecimals(left, amount)
    if (sign <= 0) return undefined
    left = difference
  }
  return left
}

/** First how much and to whom, then the whole of it to confirm; one key, so it happens once. */
function RefundDialog({ life, onClose }: { life: TransactionLifeWire; onClose: () => void }) {
  const { api } = usePlatform()
  const left = leftOf(life) ?? '0'
  const [key] = useState(() => crypto.randomUUID())
  const [wanted, setWanted] = useState<{ amount: string; to: string }>()
  const isOnChain = life.arrivals.length > 0
  const submit = async (fields: FormData): Promise<void> => {
    if (!wanted) {
      const [amount, to] = [fields.get('amount'), fields.get('to_address') ?? ''].map(String)
      setWanted({ amount: amount ?? left, to: to ?? '' })
      return
    }
    const body = { amount: wanted.amount, ...(wanted.to !== '' && { to_address: wanted.to }) }
    await api.post(`/api/payments/${life.transaction_id}/refund`, body, key)
    onClose()
  }
  return (
    <FormDialog
      title={wanted ? 'Send this refund?' : 'Refund'}
      verb={wanted ? 'Refund' : 'Review'}
      tone={wanted ? 'danger' : 'primary'}
      onSubmit={submit}
      onClose={onClose}
    >
      {wanted ? (
        <p>
          <Amount decimal={wanted.amount} currency={life.currency} /> of{' '}
          <code>{life.transaction_id}</code> goes back to{' '}
          {wanted.to === '' ? 'its payer, through the gateway' : <code>{wanted.to}</code>}. It
          cannot be undone.
        </p>
      ) : (
        <>
          <label>
            Amount in {life.currency}, at most {left}
            <input
              name="amount"
              required
              inputMode="decimal"
              pattern="(0|[1-9]\d{0,12})(\.\d{1,18})?"
              defaultValue={left}
            />
          </label>
          {isOnChain && (
            <label>
              To address: ask the customer for it
              <input
                name="to_address"
                required
                pattern="0x[0-9a-fA-F]{40}"
                defaultValue={life.arrivals.at(0)?.payer ?? ''}
              />
            </label>
          )}
        </>
      )}
    </FormDialog>
  )
}
