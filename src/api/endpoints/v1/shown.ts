import { burnCalldata, transferCalldata } from '../../../chain/burn.ts'
import { checksummed } from '../../../chain/hex.ts'
import type { Redeem } from '../../../domain/ledger.ts'
import type { LedgerContext, Stablecoin, Teller } from '../../../ledger/context.ts'
import { notify } from '../../../store/webhooks/notifications.ts'
import { paymentBody } from '../../../wire/group-a/payments.ts'
import { transferBody, type ChainView, type Redemption } from '../../../wire/group-a/transfers.ts'

/** How transfers that touch the chain are shown. */
export function chainView({ stablecoin }: Pick<LedgerContext, 'stablecoin'>): ChainView {
  return {
    checksummed,
    redemptionOf: (redeem) => stablecoin && redemptionOf(redeem, stablecoin),
  }
}

function redemptionOf(redeem: Redeem, { token, chainId, issuer }: Stablecoin): Redemption {
  const { reference, amount, expiresAt } = redeem
  return {
    reference,
    token: checksummed(token),
    chainId,
    ...(issuer === undefined
      ? {
          function: 'burnWithMemo(uint256,bytes32)' as const,
          calldata: burnCalldata({ amount, memo: reference }),
        }
      : {
          function: 'transfer(address,uint256)' as const,
          calldata: transferCalldata({ to: issuer.address, amount }),
        }),
    expiresAt: expiresAt.toISOString(),
  }
}

/** A notification shows what a GET shows. */
export function createTeller(shown: Pick<LedgerContext, 'stablecoin'>): Teller {
  const view = chainView(shown)
  return {
    async tellOfPayment(db, payment) {
      const { userId } = payment
      await notify(db, { userId, type: 'payments', body: paymentBody(payment, 'flat') })
    },
    async tellOfTransfer(db, transfer) {
      const { userId } = transfer
      await notify(db, { userId, type: 'transfers', body: transferBody(transfer, 'flat', view) })
    },
  }
}
