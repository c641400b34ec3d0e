import { useState } from 'preact/hooks'

import type { BreakWire } from '../../wire/group-b/reconciliation.ts'
import { useAct } from '../act.ts'
import { useEvents, useInterval, useLoaded, usePlatform, useThrottled } from '../context.ts'
import { textsOf } from '../form.ts'
import { groupDigits, sentenceOf } from '../parts/format.ts'
import { Who } from '../parts/names.tsx'
import {
  Amount,
  Back,
  Badge,
  Failure,
  Foreign,
  Hash,
  Heading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { AtRisk } from './breaks.tsx'

type Move = { action: string; actor: string; note: string | null; at: string }
type Detail = { break: BreakWire; history: Move[] }

/** One disagreement: what the record and the chain say, and what was done. */
export function BreakScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const loaded = useLoaded(id, (api, signal) =>
    api.get<Detail>(`/api/breaks/${encodeURIComponent(id)}`, { signal }),
  )
  const { data, reload } = loaded
  const reloadSoon = useThrottled(reload, 300)
  useEvents((event) => {
    if (event.type.includes('break')) reloadSoon()
  })
  useInterval(reload)
  return (
    <>
      <Back to="breaks">All breaks</Back>
      <Heading>{data ? sentenceOf(data.break.kind) : 'Break'}</Heading>
      <LoadState of={loaded} what="the break" />
      {data && <Break {...data} reload={reload} />}
    </>
  )
}

function Break(props: Detail & { reload: () => void }) {
  const { break: found, history, reload } = props
  return (
    <>
      <div class={`verdict ${found.state === 'open' ? 'bad' : 'good'}`}>
        <strong>{found.meaning}</strong>
        <p>{found.state === 'open' ? found.remedy : 'It is closed.'}</p>
      </div>
      {found.kind !== 'supply_drift' && <Sides found={found} />}
      <div class="panels two">
        <Panel title="Break" facts={factsOf(found)} />
        {found.kind === 'supply_drift' ? (
          <Panel title="Ledger and supply" areFigures facts={accountOf(found)} />
        ) : (
          <Panel title="Evidence" facts={evidenceOf(found)} />
        )}
        <Panel title="What to do">
          <Actions found={found} reload={reload} />
        </Panel>
        <Panel title="History">
          <ol class="timeline">
            {history.map((move, index) => (
              <li key={index} class={move.action === 'resolved' ? 'good' : 'plain'}>
                <p class="title">
                  {sentenceOf(move.action)} <Time iso={move.at} />
                </p>
                <p class="faint">
                  by <Who actor={move.actor} />
                  {move.note !== null && (
                    <>
                      {': '}
                      <Foreign text={move.note} />
                    </>
                  )}
                </p>
              </li>
            ))}
          </ol>
        </Panel>
      </div>
    </>
  )
}

function evidenceOf({ evidence }: BreakWire) {
  return Object.entries(evidence).flatMap(([name, value]) =>
    name === 'meaning' || value === null
      ? []
      : [[sentenceOf(name), <Foreign text={value} />] as const],
  )
}

/** The two sides of a drift are sums that should be equal, not two values of one field. */
function accountOf({ recorded, on_chain: onChain, evidence }: BreakWire) {
  const rows = [
    ['Owed by the ledger', recorded['liability']],
    ['Plus minted, not complete in the ledger', evidence['mints_ahead']],
    ['Minus complete, in a later block', evidence['mints_behind']],
    ['Supply on chain', onChain['supply']],
    ['Difference', evidence['drift']],
  ] as const
  return [
    ...rows.flatMap(([name, value]) =>
      value === undefined || value === null
        ? []
        : [[name, <Amount decimal={value} currency="USD" />] as const],
    ),
    ['At block', groupDigits(evidence['block'] ?? '')] as const,
  ]
}

function Sides({ found }: { found: BreakWire }) {
  const { recorded, on_chain: onChain } = found
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(onChain)])].filter(
    // What neither side states says nothing.
    (name) => (recorded[name] ?? onChain[name] ?? null) !== null,
  )
  if (names.length === 0) return null
  return (
    <table class="cards sides">
      <caption>The record and the chain</caption>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Recorded</th>
          <th scope="col">On chain</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name} class={isSame(found, name) ? '' : 'differs'}>
            <th scope="row">{sentenceOf(name)}</th>
            <td data-column="Recorded">
              <Fact of={found.recorded} name={name} />
            </td>
            <td data-column="On chain">
              <Fact of={found.on_chain} name={name} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** A fact that one side does not state has no value. */
function Fact({ of, name }: { of: BreakWire['recorded']; name: string }) {
  const value = of[name] ?? null
  return value === null ? <span class="faint">not stated</span> : <Foreign text={value} />
}

function isSame(found: BreakWire, name: string): boolean {
  const [one, other] = [found.recorded[name] ?? null, found.on_chain[name] ?? null]
  return one === null || other === null || one.toLowerCase() === other.toLowerCase()
}

function factsOf(found: BreakWire) {
  const { transaction_id: transactionId, eth_transaction_hash: hash } = found
  return [
    ['State', <Badge state={found.state} />],
    ...(transactionId === null
      ? []
      : [['Transaction', <TransactionLink id={transactionId} />] as const]),
    ...(hash === null ? [] : [['Hash', <Hash value={hash} />] as const]),
    ...(found.at_risk_decimal === null ? [] : [['At risk', <AtRisk of={found} />] as const]),
    ['First seen', <Time iso={found.first_seen_at} />],
    ['Last seen', <Time iso={found.last_seen_at} />],
    ...(found.closed_at === null ? [] : [['Closed', <Time iso={found.closed_at} />] as const]),
  ] as const
}

function TransactionLink({ id }: { id: string }) {
  return (
    <a href={hashOf(['transactions', id])}>
      <code>{id}</code>
    </a>
  )
}

const RESULTS: Readonly<Record<string, string>> = {
  stands: 'It is still open: the record and the chain disagree.',
  resolved: 'It is resolved: the record and the chain agree now.',
  unclear: 'It is unclear: the nodes do not answer now, or only a run over all records can decide.',
}

function Actions({ found, reload }: { found: BreakWire; reload: () => void }) {
  const { api } = usePlatform()
  const { act, isBusy, error } = useAct()
  const [result, setResult] = useState('')
  const verify = async (): Promise<void> => {
    const answer = await api.post<{ result: string }>(`/api/breaks/${found.id}/verify`)
    setResult(RESULTS[answer.result] ?? sentenceOf(answer.result))
    reload()
  }
  const close = async (form: HTMLFormElement): Promise<void> => {
    const { note = '' } = textsOf(form)
    await api.post(`/api/breaks/${found.id}/close`, { note })
    reload()
  }
  return (
    <>
      <p role="status">{result}</p>
      {error !== undefined && <Failure error={error} />}
      {found.state === 'open' && (
        <form
          class="act"
          onSubmit={(event) => {
            event.preventDefault()
            const form = event.currentTarget
            act(() => close(form))
          }}
        >
          <label>
            Why it can be closed
            <input name="note" required maxLength={1000} dir="auto" />
          </label>
          <p class="buttons">
            <button type="submit" disabled={isBusy}>
              Close with this note
            </button>
            <button type="button" class="primary" disabled={isBusy} onClick={() => act(verify)}>
              Check it again
            </button>
          </p>
        </form>
      )}
      {found.state === 'closed' && <p class="faint">It is closed.</p>}
    </>
  )
}
