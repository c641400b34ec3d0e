import { invalidRequest } from '../../admission/checks.ts'

const DAY_MS = 86_400_000

/** The database reads no year of five digits, and a query can name no day after this one. */
const LAST_DAY = '9999-12-31'

/** Both days are included, so the range ends with the first moment of the day after. */
export function dayRange(query: {
  start_date?: string | undefined
  end_date?: string | undefined
}): { from?: Date; until?: Date } {
  const from = query.start_date === undefined ? undefined : new Date(query.start_date)
  const end = query.end_date === undefined ? undefined : new Date(query.end_date)
  if (from && end && from > end) {
    const message = 'This day is after end_date. Exchange the two.'
    throw invalidRequest([{ field: 'query.start_date', code: 'after_end_date', message }])
  }
  return {
    ...(from ? { from } : {}),
    ...(end && query.end_date !== LAST_DAY ? { until: new Date(end.getTime() + DAY_MS) } : {}),
  }
}
