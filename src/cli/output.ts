import { createRequire } from 'node:module'

import { BaseError, messageOf } from '../base/errors.ts'

/** Exit codes of every command: all well, a disagreement was found, could not run. */
export const EXIT = { holds: 0, disagrees: 1, cannotRun: 2 } as const

export type Output = {
  isJson: boolean
  /** A line for a person; silent where a program reads. */
  line: (text?: string) => void
  /** The one JSON answer, where a program reads. */
  result: (value: unknown) => void
}

export function createOutput(options: { json?: boolean | undefined }): Output {
  const isJson = options.json === true
  return {
    isJson,
    line: (text = '') => void (isJson || process.stdout.write(`${text}\n`)),
    result: (value) => void (isJson && process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)),
  }
}

/** Two columns, the second aligned. */
export function formatPairs(pairs: ReadonlyArray<readonly [string, string]>): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n')
}

/** A line of headings over rows, each column as wide as its widest cell. */
export function formatTable(headings: readonly string[], rows: readonly string[][]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  return [headings, ...rows]
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `  ${line}`.trimEnd())
    .join('\n')
}

/** `2026-01-31 12:00 UTC` */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** What went wrong, on standard error; with --json also as an object on standard output. */
export function reportError(error: unknown, options: { json: boolean }): void {
  const known = error instanceof BaseError
  const message = messageOf(error)
  process.stderr.write(`${message}\n`)
  if (!known && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`)
  if (options.json) {
    const body = { code: known ? error.code : 'unknown', message }
    process.stdout.write(`${JSON.stringify({ error: body }, null, 2)}\n`)
  }
}

const require = createRequire(import.meta.url)

export const version = (require('../../package.json') as { version: string }).version
