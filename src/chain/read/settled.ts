import type { Address, Hex } from 'viem'
import { decodeEventLog, encodeEventTopics, isAddressEqual } from 'viem/utils'

import { settlementAbi } from '../../bindings/abis.ts'
import type { Log } from '../answers.ts'

/** What the settlement contract says was paid; `token` is undefined for the native coin. */
export type Settled = {
  reference: Hex
  payer: Address
  payee: Address
  token: Address | undefined
  amount: bigint
  logIndex: number
}

const [SETTLED_TOPIC] = encodeEventTopics({ abi: settlementAbi, eventName: 'Settled' })

/**
 * Undefined when the log is not this contract's `Settled`, to the last byte. An event of the same
 * form from another address proves nothing, since anybody can log one.
 */
export function decodeSettled(
  log: Log & { logIndex: number },
  settlement: Address,
): Settled | undefined {
  if (!isAddressEqual(log.address, settlement) || log.topics[0] !== SETTLED_TOPIC) return undefined
  // Two words: what is longer or shorter was not logged by the contract that we know.
  if (log.topics.length !== 4 || log.data.length !== 2 + 2 * 64) return undefined
  try {
    const { args } = decodeEventLog({
      abi: settlementAbi,
      eventName: 'Settled',
      topics: log.topics as [Hex, ...Hex[]],
      data: log.data,
    })
    const { orderReference, payer, payee, token, amount } = args
    // The decoder passes over the bytes before an address, which the contract leaves empty.
    const isPlain = [log.topics[2], log.topics[3], log.data].every((word) => EMPTY.test(word ?? ''))
    if (!isPlain) return undefined
    return {
      reference: orderReference,
      payer,
      payee,
      token: isAddressEqual(token, NATIVE) ? undefined : token,
      amount,
      logIndex: log.logIndex,
    }
  } catch {
    return undefined
  }
}

/** How the contract names the native coin. */
const NATIVE: Address = `0x${'0'.repeat(40)}`

/** The twelve empty bytes before an address in a word. */
const EMPTY = /^0x0{24}/
