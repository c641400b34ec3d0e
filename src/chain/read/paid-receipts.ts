import { readLogs, readReceipt, record } from '../answers.ts'
import type { Hex } from '../hex.ts'
import type { Providers } from '../rpc/providers.ts'
import { askAgreed } from './agreed.ts'
import { decodeSettled, type Settled } from './settled.ts'

/** What a receipt says of one settlement in it, and of the whole transaction's gas. */
export type PaidReceipt = {
  blockHash: Hex
  gasUsed: bigint
  gasPrice: bigint
  /** In lower case. */
  contract: Hex
  settled: Settled
}

/**
 * Reads the receipt behind a settlement: what two providers agree on where there are as many.
 * Undefined while they know no such receipt, or none with a settlement at that place.
 */
export type PaidReceiptReader = (
  wanted: { hash: Hex; logIndex: number },
  signal: AbortSignal,
) => Promise<PaidReceipt | undefined>

export function createPaidReceiptReader(providers: Pick<Providers, 'askAll'>): PaidReceiptReader {
  return async ({ hash, logIndex }, signal) =>
    askAgreed(providers, {
      call: { method: 'eth_getTransactionReceipt', params: [hash], signal },
      read: (result) => readPaid(result, logIndex),
    })
}

function readPaid(result: unknown, logIndex: number): PaidReceipt | undefined {
  if (result === null) return undefined
  const { gasUsed, gasPrice } = readReceipt(result)
  const log = readLogs(record(result, 'receipt')['logs']).find((one) => one.logIndex === logIndex)
  const settled = log && decodeSettled(log, log.address)
  if (log === undefined || settled === undefined) return undefined
  return { blockHash: log.blockHash, gasUsed, gasPrice, contract: log.address, settled }
}
