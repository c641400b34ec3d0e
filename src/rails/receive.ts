import type { Db } from '../store/database/database.ts'
import {
  findCharge,
  findChargeByExternalId,
  wakeCharge,
  type Charge,
} from '../store/rails/charges.ts'
import { noteDispute } from '../store/rails/disputes.ts'
import type { GatewayAdapter, GatewayNews, Webhook } from './gateway.ts'

export type Received = 'received' | 'unknown' | 'refused'

/**
 * Takes a webhook in. Nothing in it is believed but which charge has news; what the news are is
 * asked of the gateway. One that comes before our own call has returned finds the charge by the
 * transaction's id.
 */
export async function receiveWebhook(
  deps: { db: Db; adapters: ReadonlyMap<number, GatewayAdapter>; kick: () => void },
  gatewayId: number,
  webhook: Webhook,
  signal: AbortSignal,
): Promise<Received> {
  const verify = deps.adapters.get(gatewayId)?.verify
  if (verify === undefined) return 'unknown'
  // What names no charge of ours is no news, and nobody need be asked about it.
  const isExpected = async (news: GatewayNews): Promise<boolean> =>
    (await chargeOf(deps.db, gatewayId, news)) !== undefined
  const news = await verify(webhook, { signal, isExpected })
  if (news === undefined) return 'refused'
  const charge = await chargeOf(deps.db, gatewayId, news)
  // Other programs may share the account at the gateway: what is theirs is none of our business.
  if (charge === undefined) return 'received'
  const { transactionId } = charge
  await deps.db.transaction().execute(async (db) => {
    await wakeCharge(db, { gatewayId, transactionId })
    const { disputeId } = news
    if (disputeId !== undefined) await noteDispute(db, { disputeId, transactionId })
  })
  deps.kick()
  return 'received'
}

async function chargeOf(db: Db, gatewayId: number, news: GatewayNews): Promise<Charge | undefined> {
  const { externalId, transactionId } = news
  const known = externalId && (await findChargeByExternalId(db, { gatewayId, externalId }))
  if (known) return known
  const named = transactionId === undefined ? undefined : await findCharge(db, transactionId)
  return named?.gatewayId === gatewayId ? named : undefined
}
