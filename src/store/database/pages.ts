import { sql, type RawBuilder } from 'kysely'

/** A page of a list, newest first. `after` and `before` name a row of the same list. */
export type Page = {
  size: number
  from?: Date | undefined
  to?: Date | undefined
  after?: bigint | undefined
  before?: bigint | undefined
}

/**
 * The condition, the order and the limit of a page over rows with `seq` and `created_at`. The page
 * before a row holds those next to it, so it is read backwards and turned by `inOrder`.
 */
export function pageOf(page: Page, seq: RawBuilder<unknown> = sql`seq`): RawBuilder<unknown> {
  const { size, from, to, after, before } = page
  return sql`
    ${from === undefined ? sql`` : sql`and created_at >= ${from}`}
    ${to === undefined ? sql`` : sql`and created_at <= ${to}`}
    ${after === undefined ? sql`` : sql`and ${seq} < ${after}`}
    ${before === undefined ? sql`` : sql`and ${seq} > ${before}`}
    order by ${seq} ${before === undefined ? sql`desc` : sql`asc`} limit ${size}`
}

export function inOrder<T>(rows: readonly T[], { before }: Page): T[] {
  return before === undefined ? [...rows] : rows.toReversed()
}
