import { useState } from 'preact/hooks'

import type { BreakWire } from '../../wire/group-b/reconciliation.ts'
import { useAct } from '../act.ts'
import { useLoaded, usePlatform } from '../context.ts'
import { textsOf } from '../form.ts'
import { sentenceOf } from '../parts/format.ts'
import {
  Badge,
  Facts,
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

type Move = { action: string; actor: string; note: string | null; at: string }
type Detail = { break: BreakWire; history: Move[] }

/** One disagreement: what the record says beside what the chain says, and what was done. */
export function BreakScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const loaded = useLoaded(id, (api, signal) =>
    api.get<Detail>(`/api/breaks/${encodeURIComponent(id)}`, { signal }),
  )
  const { data, reload } = loaded
  return (
    <>
      <p class="back">
        <a href={hashOf(['breaks'])}>All breaks</a>
      </p>
      <Heading>{data ? sentenceOf(data.break.kind) : 'Break'}</Heading>
      <LoadState of={loaded} what="the break" />
      {data && <Break {...data} reload={reload} />}
    </>
  )
}

function Break(props: Detail & { reload: () => void }) {
  const { break: found, history, reload } = props
  const names = [...new Set([...Object.keys(found.recorded), ...Object.keys(found.on_chain)])]
  return (
    <>
      <table class="cards sides">
        <caption>What the record says, and what the chain says</caption>
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
                <Foreign text={found.recorded[name] ?? 'nothing'} />
              </td>
              <td data-column="On chain">
                <Foreign text={found.on_chain[name] ?? 'nothing'} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="panels">
        <Panel title="Break">
          <Facts rows={factsOf(found)} />
        </Panel>
        <Panel title="Evidence">
          <Facts
            rows={Object.entries(found.evidence).map(
              ([name, value]) => [sentenceOf(name), <Foreign text={value ?? 'none'} />] as const,
            )}
          />
        </Panel>
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
                  by {move.actor}
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

function isSame(found: BreakWire, name: string): boolean {
  return found.recorded[name] === found.on_chain[name]
}

function factsOf(found: BreakWire) {
  const { transaction_id: transactionId, eth_transaction_hash: hash } = found
  return [
    ['State', <Badge state={found.state} />],
    [
      'Transaction',
      transactionId === null ? (
        'none'
      ) : (
        <a href={hashOf(['transactions', transactionId])}>
          <code>{transactionId}</code>
        </a>
      ),
    ],
    ['Hash', hash === null ? 'none' : <Hash value={hash} />],
    ['First seen', <Time iso={found.first_seen_at} />],
    ['Last seen', <Time iso={found.last_seen_at} />],
    ['Closed', found.closed_at === null ? 'not yet' : <Time iso={found.closed_at} />],
  ] as const
}

const RESULTS: Readonly<Record<string, string>> = {
  stands: 'It stands: the record and the chain still disagree.',
  resolved: 'It is resolved: the record and the chain agree now.',
  unclear: 'It is unclear: the nodes cannot tell now, or only a run over all records can.',
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
            Why it needs nobody any more
            <input name="note" required maxLength={1000} dir="auto" />
          </label>
          <p class="buttons">
            <button type="submit" disabled={isBusy}>
              Close with this note
            </button>
            <button type="button" class="primary" disabled={isBusy} onClick={() => act(verify)}>
              Look at it again
            </button>
          </p>
        </form>
      )}
      {found.state === 'closed' && <p class="faint">It is closed, and needs nobody.</p>}
    </>
  )
}
