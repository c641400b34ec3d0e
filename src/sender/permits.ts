import { messageOf } from '../base/errors.ts'
import { readBlock, word } from '../chain/answers.ts'
import { agreedOn, type Quorum } from '../chain/quorum.ts'
import { permitNonceCall, permitPayload } from '../chain/read/permit.ts'
import type { Hex } from '../domain/orders.ts'
import type { Reference } from '../domain/reference.ts'
import type { Db } from '../store/database/database.ts'
import { readPermits } from '../store/orders/permits.ts'
import type { SenderContext } from './context.ts'
import { estimateGas, firstAnswer } from './estimate.ts'
import { OrderRefusedError } from './refused.ts'
import { permitCall, type SignedPermit } from './sign.ts'

/** A permit of ERC-2612 for one payment, and which one of the payer's came before it. */
export type PaymentPermit = SignedPermit & { after: bigint }

type Permitted = { permit: PaymentPermit; gas: bigint }

export type Permissible = {
  signer: Hex
  contract: Hex
  token: Hex
  payee: Hex
  amount: bigint
  reference: Reference
}

/**
 * Signs a permit for a payment and simulates it, before anything is locked. Returns undefined where
 * the payment requires an allowance instead:
 * - The token takes no permits.
 * - The signer signs no permits, for example a service that signs transactions alone.
 * - The simulation fails, for example where the payer's account has delegated its code (EIP-7702)
 *   and the token asks that code. The payment by an allowance reports any other cause of a failure.
 *
 * A permit is used only while the payer has nothing else on its way that needs an allowance of the
 * token. Anyone who sees a permit can use it early, before the orders ahead of it in the lane, and
 * so change an allowance that another order relies on.
 */
export async function preparePermit(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  payment: Permissible,
): Promise<Permitted | undefined> {
  const { chainId, quorum, tokens, logger } = context
  const { signer, contract: spender, token, amount: value } = payment
  const domain = tokens.find(({ address }) => address === token)?.permitDomain
  if (domain === undefined) return undefined
  const place = (await readPermits(db, { chainId, signers: [signer] })).get(signer)
  if (place?.open.includes(token)) return undefined
  const [nonce, time] = await Promise.all([nonceOf(quorum, payment), timeOf(quorum)])
  if (nonce === undefined) return undefined
  const deadline = time + PERMIT_SECONDS
  const payload = permitPayload(domain, { owner: signer, spender, value, nonce, deadline })
  try {
    const { r, s, yParity } = await context.signTyped(signer, payload)
    const permit = { deadline, v: 27 + yParity, r, s, after: place?.last ?? 0n }
    const gas = await estimateGas(quorum, { signer, call: permitCall(payment, permit) })
    return { permit, gas }
  } catch (error) {
    quorum.signal.throwIfAborted()
    const isRefused = error instanceof OrderRefusedError
    if (isRefused && error.code !== 'simulation_failed') throw error
    logger.debug({ signer, reason: messageOf(error) }, 'a payment goes without a permit')
    return undefined
  }
}

/** A payment may wait that long for its turn and for a price that it can bear. */
const PERMIT_SECONDS = 7n * 24n * 3600n

function nonceOf(
  quorum: Quorum,
  { signer, token }: Pick<Permissible, 'signer' | 'token'>,
): Promise<bigint | undefined> {
  const params = [{ to: token, data: permitNonceCall(signer) }, 'latest']
  return agreedOn(quorum, async (provider, signal) =>
    word(await provider.request({ method: 'eth_call', params, signal }), 'nonce'),
  )
}

/** By the clock of the chain, which permits go by, in seconds. */
function timeOf(quorum: Quorum): Promise<bigint> {
  const params = ['latest', false]
  return firstAnswer(quorum, async (provider, signal) => {
    const block = await provider.request({ method: 'eth_getBlockByNumber', params, signal })
    return BigInt(Math.floor(readBlock(block).timeMs / 1000))
  })
}
