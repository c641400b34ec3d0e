import type { Clock } from '../base/clock.ts'
import { burnCalldata } from '../chain/burn.ts'
import { checksummed } from '../chain/hex.ts'
import type { TokenProfile } from '../chain/read/stablecoin.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { Payment, Redeem, Transfer } from '../domain/ledger.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { notify } from '../store/webhooks/notifications.ts'
import { paymentBody } from '../wire/group-a/payments.ts'
import { transferBody, type ChainView, type Redemption } from '../wire/group-a/transfers.ts'

/** The chain on which the stablecoin is; the token's address is in lower case. */
export type Stablecoin = { token: Hex; chainId: number }

/** The stablecoin, with what its functions can do. */
export type ProfiledStablecoin = Stablecoin & { profile: TokenProfile }

/** What the operations on the ledger stand on. */
export type LedgerContext = {
  /** Undefined where the chain has none: then nothing is minted or redeemed. */
  stablecoin: ProfiledStablecoin | undefined
  clock: Clock
  randomBytes: RandomBytes
}

/** How transfers that touch the chain are shown. */
export function chainView({ stablecoin }: Pick<LedgerContext, 'stablecoin'>): ChainView {
  return {
    checksummed,
    redemptionOf: (redeem) => stablecoin && redemptionOf(redeem, stablecoin),
  }
}

function redemptionOf(redeem: Redeem, { token, chainId }: Stablecoin): Redemption {
  const { reference, amount, expiresAt } = redeem
  return {
    reference,
    token: checksummed(token),
    chainId,
    function: 'burnWithMemo(uint256,bytes32)',
    calldata: burnCalldata({ amount, memo: reference }),
    expiresAt: expiresAt.toISOString(),
  }
}

/** Last in its transaction, as `notify` wants. */
export async function tellOfPayment(db: Db, payment: Payment): Promise<void> {
  const { userId } = payment
  await notify(db, { userId, type: 'payments', body: paymentBody(payment, 'flat') })
}

/** Last in its transaction, as `notify` wants. */
export async function tellOfTransfer(
  context: Pick<LedgerContext, 'stablecoin'>,
  db: Db,
  transfer: Transfer,
): Promise<void> {
  const body = transferBody(transfer, 'flat', chainView(context))
  await notify(db, { userId: transfer.userId, type: 'transfers', body })
}
