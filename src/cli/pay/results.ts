import { rename, writeFile } from 'node:fs/promises'

import { csvRow } from '../../base/csv.ts'
import type { PaidRow } from './payments.ts'
import type { PayRow } from './rows.ts'

/** Beside the file, whole or not at all: each row with what became of it. */
export async function writeResults(
  path: string,
  rows: readonly PayRow[],
  paid: ReadonlyMap<PayRow, PaidRow>,
): Promise<void> {
  const lines = rows.map((row) => {
    const { toAddress, amount, currency, externalId, description } = row
    const { transactionId = '', hash = '', state = 'open', error = '' } = paid.get(row) ?? {}
    const asked = [toAddress, amount, currency, externalId, description]
    return csvRow(asked.concat(transactionId, hash, state, error))
  })
  await writeFile(`${path}.part`, csvRow(COLUMNS) + lines.join(''))
  await rename(`${path}.part`, path)
}

const COLUMNS = [
  'to_address',
  'amount',
  'currency',
  'external_id',
  'description',
  'transaction_id',
  'eth_transaction_hash',
  'state',
  'error_code',
]
