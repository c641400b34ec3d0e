import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import type { OwnedTransactionWire } from '../../wire/group-b/admin.ts'
import { sentenceOf, shortHash } from './format.ts'
import { StatusCell } from './objections.tsx'
import { Amount, IN_A_LIST, startOf, Time } from './parts.tsx'
import { saveFile } from './save-file.ts'
import { hashOf, type Route } from '../route.ts'

type Row = OwnedTransactionWire
type Column = {
  width: string
  cell: (row: Row) => ComponentChildren
  /** Its text in a file. */
  text: (row: Row) => string
}

/** What can be shown of a transaction in a list, in this order. */
export const COLUMNS: Readonly<Record<string, Column>> = {
  Transaction: {
    width: '12.2rem',
    cell: (row) => <code>{row.transaction_id}</code>,
    text: (row) => row.transaction_id,
  },
  // One holds 18 decimals, and longer ones end in dots; the other holds a status with its mark.
  Amount: {
    width: '14.6rem',
    cell: (row) => <Amount decimal={row.amount_decimal} currency={row.currency} />,
    text: (row) => `${row.amount_decimal} ${row.currency}`,
  },
  Status: {
    width: '9rem',
    cell: (row) => <StatusCell status={row.status} of={row.disputed_by} />,
    text: (row) => [row.status, ...row.disputed_by.map(({ reason }) => reason)].join(' '),
  },
  Type: { width: '6.2rem', cell: (row) => sentenceOf(row.type), text: (row) => row.type },
  User: {
    width: 'minmax(5rem, 0.6fr)',
    cell: (row) => startOf(row.username, IN_A_LIST),
    text: (row) => row.username,
  },
  Description: {
    width: 'minmax(8rem, 2fr)',
    cell: (row) => startOf(row.description, IN_A_LIST),
    text: (row) => row.description,
  },
  Created: {
    width: 'var(--time)',
    cell: (row) => <Time iso={row.created_at} />,
    text: (row) => row.created_at,
  },
  Updated: {
    width: 'var(--time)',
    cell: (row) => <Time iso={row.updated_at} />,
    text: (row) => row.updated_at,
  },
  'External id': {
    width: 'minmax(8rem, 1fr)',
    cell: (row) => startOf(row.external_id ?? '', IN_A_LIST),
    text: (row) => row.external_id ?? '',
  },
  Chain: { width: '8rem', cell: (row) => row.chain ?? '', text: (row) => row.chain ?? '' },
  Hash: {
    width: '10rem',
    cell: (row) => <code>{shortHash(row.eth_transaction_hash ?? '')}</code>,
    text: (row) => row.eth_transaction_hash ?? '',
  },
  To: {
    width: '10rem',
    cell: (row) => <code>{shortHash(row.to_address ?? '')}</code>,
    text: (row) => row.to_address ?? '',
  },
}

const FIRST = ['Transaction', 'Amount', 'Status', 'Type', 'User', 'Description', 'Created']

/** Those that the address names; the first one always stands, since it is the row's link. */
export function columnsOf(chosen: string | undefined): string[] {
  const wanted = chosen === undefined ? FIRST : ['Transaction', ...chosen.split('.')]
  return Object.keys(COLUMNS).filter((name) => wanted.includes(name))
}

/** The address contains the choice and the filters, so that a view can be kept and sent. */
export function ColumnChoice(props: { query: Route['query']; shown: readonly string[] }) {
  const { query, shown } = props
  const toggle = (name: string): void => {
    const columns = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name]
    location.hash = hashOf(['transactions'], { ...query, columns: columns.slice(0).join('.') })
  }
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="columns-choice" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Columns</summary>
      {isOpen && (
        <fieldset>
          <legend class="hidden">Columns</legend>
          {Object.keys(COLUMNS).map((name) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={shown.includes(name)}
                disabled={name === 'Transaction'}
                onChange={() => toggle(name)}
              />
              {name}
            </label>
          ))}
        </fieldset>
      )}
    </details>
  )
}

/** The rows that are loaded, with the columns that are shown. */
export function saveShown(rows: readonly Row[], columns: readonly string[]): void {
  const lines = rows.map((row) => columns.map((name) => COLUMNS[name]?.text(row) ?? ''))
  const body = [columns, ...lines].map((line) => line.map(cellOf).join(',')).join('\r\n')
  saveFile({ name: 'transactions.csv', type: 'text/csv', body: `${body}\r\n` })
}

/** Quoted, and never a formula to a program that opens it. */
function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}
