import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { PaidReceiptReader } from '../chain/read/paid-receipts.ts'
import type { Db } from '../store/database/database.ts'
import { listUnpriced, priceClosing } from '../store/rails/checkout-closings.ts'

/**
 * Reads what the transactions that closed charges have cost. The first one that nobody can tell of
 * ends it until the next pass, which begins with others: no charge waits for its gas.
 */
export async function priceClosings(
  deps: { db: Db; readReceipt: PaidReceiptReader; logger: Logger; chainId: number },
  signal: AbortSignal,
): Promise<void> {
  const { db, readReceipt, logger, chainId } = deps
  for (const one of await listUnpriced(db, { chainId, limit: AT_ONCE })) {
    const { id, transactionHash: hash, blockHash, logIndex } = one
    try {
      const receipt = await readReceipt({ hash, logIndex }, signal)
      // Of another block it is another receipt: what has become of this one is still to be read.
      const isSame = blockHash === null || receipt?.blockHash === blockHash
      if (receipt === undefined || !isSame) return
      const { gasUsed, gasPrice, contract } = receipt
      const payee = receipt.settled.payee
      await priceClosing(db, { id, gasUsed, gasPrice, contract, payee })
    } catch (error) {
      if (signal.aborted) return
      logger.warn({ hash, problem: messageOf(error) }, 'the gas of a checkout payment is not known')
      return
    }
  }
}

const AT_ONCE = 50
