import type { Db } from '../../store/database/database.ts'
import { findDelivery, replayDelivery, type Delivery } from '../../store/webhooks/delivery-log.ts'
import { RequestError } from '../../wire/errors.ts'

/**
 * Makes a delivery due now, or says why it cannot be. One that is being tried at this moment is on
 * its way already, and stays as it is.
 */
export async function replay(db: Db, wanted: { userId?: number; id: string }): Promise<Delivery> {
  if (!(await findDelivery(db, wanted))) throw deliveryNotFound()
  const isReplayed = await replayDelivery(db, wanted.id)
  const delivery = await findDelivery(db, wanted)
  if (!delivery) throw deliveryNotFound()
  if (!isReplayed && delivery.endpointState === 'disabled') {
    throw new RequestError(
      'conflict',
      'The url of this delivery is disabled. Replay its ping first, or subscribe anew.',
    )
  }
  return delivery
}

function deliveryNotFound(): RequestError {
  return new RequestError('not_found', 'There is no delivery with this id, or it is not yours.')
}
