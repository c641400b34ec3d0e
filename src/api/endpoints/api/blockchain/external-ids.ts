import { MAX_BATCH } from '../../../../domain/batches.ts'
import type { Db } from '../../../../store/database/database.ts'
import { findExternalIds } from '../../../../store/transactions/batches.ts'
import { RequestError } from '../../../../wire/errors.ts'
import { invalidRequest } from '../../../admission/checks.ts'

/** An id that the client gave to a payment, and where in the request it stands. */
type Given = { field: string; externalId: string | undefined }

/**
 * Refuses ids that stand twice in the request, and those that a transaction of the user's has. One
 * that another request takes meanwhile is refused where it is stored.
 */
export async function requireNew(
  db: Db,
  { userId, externalIds }: { userId: number; externalIds: readonly Given[] },
): Promise<void> {
  const given = externalIds.flatMap(({ field, externalId }) =>
    externalId === undefined ? [] : [{ field, externalId }],
  )
  const places = Map.groupBy(given, ({ externalId }) => externalId)
  const repeated = [...places.values()].flatMap(([first, ...others]) =>
    others.map(({ field }) => {
      const message = `${first!.field} has the same id. Give each payment its own id.`
      return { field, code: 'repeated', message }
    }),
  )
  if (repeated.length > 0) throw invalidRequest(repeated.slice(0, MAX_TOLD))
  const used = await findExternalIds(db, { userId, externalIds: [...places.keys()] })
  if (used.length === 0) return
  const problems = used.slice(0, MAX_TOLD).map(({ externalId, transactionId }) => {
    const [{ field } = { field: 'external_id' }] = places.get(externalId) ?? []
    const message = `${externalId} is already the external_id of ${transactionId}. Use another one.`
    return { field, code: 'external_id_used', message, value: externalId }
  })
  const message =
    `${used.length} of the external_ids belong to other transactions of yours, so nothing was ` +
    `done. ${problems[0]!.message}`
  throw new RequestError('conflict', message, { problems })
}

const MAX_TOLD = MAX_BATCH
