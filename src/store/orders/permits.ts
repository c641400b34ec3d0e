import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'

/** The last order of a payer that was paid by a permit, and the tokens that it has let be taken. */
export type PermitPlace = {
  last: bigint
  /** Of which something on its way uses an allowance. */
  open: readonly Hex[]
}

/** Of each of the signers. */
export async function readPermits(
  db: Db,
  { chainId, signers }: { chainId: number; signers: readonly Hex[] },
): Promise<Map<Hex, PermitPlace>> {
  const { rows } = await sql<PermitPlace & { signer: Hex }>`
    select one.signer,
      coalesce((
        select max(id) from orders
        where chain_id = ${chainId} and signer = one.signer and route = 'permit'
      ), 0) as last,
      array(
        select distinct case o.route when 'allowance' then o.contract else o.token end
        from lane_nonces n join orders o on o.id = n.order_id
        where n.chain_id = ${chainId} and n.signer = one.signer and n.state = 'open'
          and o.route in ('allowance', 'permit')
      ) as open
    from unnest(${signers}::text[]) as one (signer)`.execute(db)
  return new Map(rows.map(({ signer, ...place }) => [signer, place]))
}
