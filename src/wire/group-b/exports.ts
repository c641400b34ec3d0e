import { Type } from 'typebox'

import { csvRow } from '../../base/csv.ts'
import { limits } from '../../base/limits.ts'
import {
  EXPORT_FIELDS,
  EXPORT_KINDS,
  type ExportBalance,
  type ExportKind,
  type ExportSection,
} from '../../domain/exports.ts'
import { formatAmount } from '../../domain/money.ts'
import { stringifyJson } from '../json.ts'
import { ChainNameSchema, MomentSchema, namedObject, nullable, requestObject } from '../shapes.ts'

export const EXPORT_FORMATS = ['csv', 'jsonl'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export const ExportQuerySchema = requestObject({
  kind: Type.Enum([...EXPORT_KINDS], {
    description:
      'Transactions, where the completed ones make the balances; postings of the ledger, ' +
      'account by account; or the fees of transactions on the chain.',
  }),
  from: Type.Optional({ ...MomentSchema, description: 'Default: from the beginning.' }),
  to: Type.Optional({
    ...MomentSchema,
    description:
      `The end, excluded: at least ${limits.exportSettleMs / 1000} s ago, so that nothing ` +
      'is stored later for a time that is exported already.',
  }),
  chain: Type.Optional({
    ...ChainNameSchema,
    description: 'Only what is on this chain. Of postings: those of the account of its stablecoin.',
  }),
  format: Type.Enum([...EXPORT_FORMATS], { default: 'csv' }),
})

const FieldSchema = Type.Optional(nullable(Type.String()))

/** An opening and a closing line have the first six fields alone. */
export const ExportRowSchema = namedObject('ExportLine', {
  row: Type.Enum(['opening', 'entry', 'closing']),
  at: Type.String({ examples: ['2025-03-14T09:26:53.589Z'] }),
  account: Type.String({ examples: ['USD'] }),
  currency: Type.String({ examples: ['USD'] }),
  change: Type.String({ examples: ['12.50'] }),
  balance: Type.String({ examples: ['112.50'] }),
  ...Object.fromEntries(
    Object.values(EXPORT_FIELDS)
      .flat()
      .map((name) => [name, FieldSchema]),
  ),
})

const COLUMNS = ['row', 'at', 'account', 'currency', 'change', 'balance'] as const

/**
 * The lines of an export: what each account begins with, each entry with the balance after it, and
 * what each account ends with. An export without its closing lines is incomplete.
 */
export async function* exportLines(
  sections: AsyncIterable<ExportSection>,
  how: { kind: ExportKind; format: ExportFormat; from: Date; to: Date },
): AsyncGenerator<string> {
  const { kind, format, from, to } = how
  const names = [...COLUMNS, ...EXPORT_FIELDS[kind]]
  const lineOf = (row: Readonly<Record<string, string | null>>): string => {
    if (format === 'csv') return csvRow(names.map((name) => row[name] ?? ''))
    const known = names.filter((name) => row[name] !== undefined)
    return `${stringifyJson(Object.fromEntries(known.map((name) => [name, row[name]])))}\n`
  }
  if (format === 'csv') yield csvRow(names)
  for await (const { openings, entries } of sections) {
    const balances = new Map(openings.map((one) => [one.account, { ...one }]))
    for (const one of openings) yield lineOf(rowOf('opening', { ...one, at: from, change: 0n }))
    for await (const { account, at, change, fields } of entries) {
      const balance = balances.get(account)
      if (balance === undefined) continue
      balance.units += change
      yield lineOf({ ...rowOf('entry', { ...balance, at, change }), ...fields })
    }
    for (const one of balances.values()) {
      yield lineOf(rowOf('closing', { ...one, at: to, change: 0n }))
    }
  }
}

function rowOf(
  row: 'opening' | 'entry' | 'closing',
  { account, currency, decimals, units, at, change }: ExportBalance & { at: Date; change: bigint },
): Record<string, string> {
  return {
    row,
    at: at.toISOString(),
    account,
    currency,
    change: formatAmount({ amount: change, decimals }),
    balance: formatAmount({ amount: units, decimals }),
  }
}
