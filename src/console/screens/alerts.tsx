import { useState } from 'preact/hooks'

import type { AlertListWire, AlertWire } from '../../wire/group-b/console.ts'
import { useInterval, useLoaded, usePlatform } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { plural, sentenceOf } from '../parts/format.ts'
import { Who } from '../parts/names.tsx'
import { Badge, Empty, Foreign, FormDialog, Hash, Heading, Time } from '../parts/parts.tsx'
import { hashOf } from '../route.ts'

/** What should not happen and did: each stays open until the chain shows that it is over. */
export function AlertsScreen() {
  const list = useLoaded('alerts', (api, signal) =>
    api.get<AlertListWire>('/api/admin/alerts', { signal }),
  )
  useInterval(list.reload)
  const [noting, setNoting] = useState<AlertWire>()
  const alerts = list.data?.alerts
  const count = alerts && (
    <p class="faint" role="status">
      {plural(alerts.length, 'open alert')}
    </p>
  )
  const close = (): void => {
    setNoting(undefined)
    list.reload()
  }
  return (
    <>
      <Heading aside={count}>Alerts</Heading>
      <CardList
        of={list}
        what="alerts"
        rows={alerts}
        keyOf={(alert) => alert.id}
        columns={columnsOf(setNoting)}
      >
        <Empty title="No open alerts">
          <p>An alert closes when the chain shows that its cause is gone.</p>
        </Empty>
      </CardList>
      {noting && <NoteDialog alert={noting} onClose={close} />}
    </>
  )
}

function columnsOf(onNote: (alert: AlertWire) => void): Columns<AlertWire> {
  return {
    Alert: (alert) => (
      <>
        {sentenceOf(alert.kind)}
        <br />
        <span class="faint">{alert.remedy}</span>
      </>
    ),
    State: (alert) => <Badge state={alert.acknowledged_at === null ? 'open' : 'acknowledged'} />,
    Transaction: (alert) =>
      alert.transaction_id === null ? (
        'none'
      ) : (
        <a href={hashOf(['transactions', alert.transaction_id])}>
          <code>{alert.transaction_id}</code>
        </a>
      ),
    Hash: (alert) => <Hash value={alert.eth_transaction_hash} />,
    'Open since': (alert) => <Time iso={alert.opened_at} />,
    Note: (alert) =>
      alert.note === null ? (
        'none'
      ) : (
        <>
          <Foreign text={alert.note} />{' '}
          <span class="faint">
            by <Who actor={alert.acknowledged_by ?? ''} />{' '}
            {alert.acknowledged_at !== null && <Time iso={alert.acknowledged_at} />}
          </span>
        </>
      ),
    Do: (alert) => (
      <button type="button" onClick={() => onNote(alert)}>
        {alert.acknowledged_at === null ? 'Acknowledge' : 'Change the note'}
        <span class="hidden"> {sentenceOf(alert.kind)}</span>
      </button>
    ),
  }
}

function NoteDialog({ alert, onClose }: { alert: AlertWire; onClose: () => void }) {
  const { api } = usePlatform()
  const note = async (fields: FormData): Promise<void> => {
    await api.post(`/api/admin/alerts/${alert.id}/acknowledge`, { note: fields.get('note') })
    onClose()
  }
  return (
    <FormDialog title={sentenceOf(alert.kind)} verb="Acknowledge" onSubmit={note} onClose={onClose}>
      <p>
        The alert stays open, with your note and your name, until the chain shows that its cause is
        gone.
      </p>
      <label>
        Note
        <input
          name="note"
          required
          pattern=".*\S.*"
          maxLength={300}
          dir="auto"
          defaultValue={alert.note ?? ''}
        />
      </label>
    </FormDialog>
  )
}
