import type { Hex } from '../../domain/orders.ts'
import { NeededFirstError } from '../../store/database/trouble.ts'
import { signChecked, type SignTransaction, type UnsignedTransaction } from '../sign.ts'

/**
 * Orders are signed in the SQL transaction that holds their lane. A key that is elsewhere is asked
 * before it instead, for the nonce that the lane gave a moment ago. The transaction then stores the
 * signature if it would sign the very same, and asks again if not. A signature that is not stored
 * was never sent, and nobody else knows it.
 */
export function signOutside(
  sign: SignTransaction,
  /** Whether the key is here, so that nothing has to be waited for. */
  isHere: (signer: Hex) => boolean,
): SignTransaction {
  const signed = new Map<string, Hex>()
  return async (signer, transaction) => {
    if (isHere(signer)) return sign(signer, transaction)
    const name = nameOf(signer, transaction)
    const raw = signed.get(name)
    if (raw !== undefined) return raw
    throw new NeededFirstError(async () => {
      const { raw } = await signChecked(sign, signer, transaction)
      signed.set(name, raw)
      const [oldest] = signed.keys()
      if (signed.size > MAX_KEPT && oldest !== undefined) signed.delete(oldest)
    })
  }
}

/** More than can be at work in one process at a time. */
const MAX_KEPT = 1_000

function nameOf(signer: Hex, { to, value, data, chainId, nonce, gas, fees }: UnsignedTransaction) {
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  return [signer, to, value, data, chainId, nonce, gas, maxFeePerGas, maxPriorityFeePerGas].join()
}
