/** One line, as RFC 4180 has it. */
export function csvRow(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/**
 * A spreadsheet runs what begins with one of these signs, so such a cell begins with an apostrophe,
 * unless it is a number; separators and line breaks of any kind stand in quotes.
 */
function csvCell(text: string): string {
  const isSafe = /^-\d+(\.\d+)?$/.test(text) || !RUNS.test(text)
  const safe = isSafe ? text : `'${text}`
  return /[",;\r\n\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const RUNS = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
