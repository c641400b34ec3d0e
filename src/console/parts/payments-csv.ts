/** A payment of a batch as a line of the file says it. */
export type CsvPayment = {
  to_address: string
  amount: string
  description?: string
  external_id?: string
}

export type CsvBatch = {
  payments: CsvPayment[]
  /** What cannot be read, each with its line. */
  problems: string[]
}

const COLUMNS = ['to_address', 'amount', 'description', 'external_id'] as const
const REQUIRED = ['to_address', 'amount'] as const
const MOST = 1000
const MOST_PROBLEMS = 20

/** A file to fill in: its payees are examples that nobody can be paid at by mistake. */
export const TEMPLATE = `${COLUMNS.join(',')}
0x…,12.50,"Invoice 2025-014, June",invoice-2025-014
0x…,0.75,,
`

/** Reads a file with a header of the columns `to_address, amount, description, external_id`. */
export function readPaymentsCsv(text: string): CsvBatch {
  const [header = [], ...lines] = rowsOf(text.replace(/^\ufeff/, ''))
  const names = header.map((name) => name.trim().toLowerCase())
  const problems = [
    ...REQUIRED.filter((name) => !names.includes(name)).map(
      (name) => `The first line lacks the column ${name}.`,
    ),
    ...names
      .filter((name) => !COLUMNS.some((column) => column === name))
      .map((name) => `The column ${name} is unknown. Use ${COLUMNS.join(', ')}.`),
  ]
  if (problems.length > 0) return { payments: [], problems }
  if (lines.length === 0) return { payments: [], problems: ['There are no payments in the file.'] }
  if (lines.length > MOST) {
    return { payments: [], problems: [`${lines.length} payments; a batch has at most ${MOST}.`] }
  }
  const payments = lines.map((cells) => paymentOf(names, cells))
  const found = payments.flatMap((payment, place) => problemsOf(payment, place + 2))
  return { payments, problems: found.slice(0, MOST_PROBLEMS) }
}

function paymentOf(names: readonly string[], cells: readonly string[]): CsvPayment {
  const given = names.flatMap((name, place) => {
    const value = cells[place]?.trim() ?? ''
    return value === '' ? [] : [[name, value] as const]
  })
  return { to_address: '', amount: '', ...Object.fromEntries(given) }
}

function problemsOf({ to_address: to, amount }: CsvPayment, line: number): string[] {
  return [
    ...(/^0x[0-9a-fA-F]{40}$/.test(to)
      ? []
      : [`Line ${line}: ${to || 'nothing'} is not an address.`]),
    ...(/^(0|[1-9]\d{0,12})(\.\d{1,18})?$/.test(amount) && /[1-9]/.test(amount)
      ? []
      : [`Line ${line}: ${amount || 'nothing'} is not an amount.`]),
  ]
}

/** What all of them come to, to the last digit. */
export function sumOf(amounts: readonly string[]): string {
  const units = amounts.reduce((sum, amount) => {
    const [whole = '0', fraction = ''] = amount.split('.')
    return sum + BigInt(whole + fraction.padEnd(DECIMALS, '0'))
  }, 0n)
  const digits = units.toString().padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '')
  const whole = digits.slice(0, -DECIMALS)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

const DECIMALS = 18

/** Cells may be in quotes, in which commas, line ends and doubled quotes are text. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain = '', end] of text.matchAll(CELL)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    if (row.some((cell) => cell.trim() !== '')) rows.push(row)
    row = []
  }
  return rows
}

const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g
