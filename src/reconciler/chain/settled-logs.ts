import { AnswerError, quantity, readFrom, type FromProvider } from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import { readHash, readSettled, type RawLog } from '../../chain/read/settled.ts'
import type { SettledLog } from '../../store/reconciliation/settled-logs.ts'

/**
 * The settlements among the logs that a node answered with. There are millions of them in a sweep,
 * so each is read straight into its row: every field is checked, and none is read that no row has.
 * Logs of another form, or of another contract, are passed over.
 */
export function readSettledLogs(
  { value, provider }: FromProvider<unknown>,
  contract: Hex,
): SettledLog[] {
  if (!Array.isArray(value)) throw new AnswerError('logs', provider)
  const logs: SettledLog[] = []
  const from = { contract, provider }
  let block: SettledLog['block'] | undefined
  let number: unknown
  for (const item of value as unknown[]) {
    const log = (item ?? {}) as MinedRawLog
    const blockHash = hashOf(log, 'blockHash', provider)
    // Most have the block of the one before them.
    if (block === undefined || number !== log.blockNumber || block.hash !== blockHash) {
      number = log.blockNumber
      block = { number: quantityOf(log, 'blockNumber', provider), hash: blockHash }
    }
    const hash = hashOf(log, 'transactionHash', provider)
    const logIndex = Number(quantityOf(log, 'logIndex', provider))
    const settled = readSettled(log, from)
    if (settled !== undefined) logs.push({ block, hash, logIndex, ...settled, own: undefined })
  }
  return logs
}

type MinedRawLog = RawLog &
  Readonly<{
    blockNumber?: unknown
    blockHash?: unknown
    transactionHash?: unknown
    logIndex?: unknown
  }>

function hashOf(log: MinedRawLog, field: 'blockHash' | 'transactionHash', provider: string): Hex {
  const hash = readHash(log[field])
  if (hash === undefined) throw new AnswerError(field, provider)
  return hash
}

function quantityOf(log: MinedRawLog, field: 'blockNumber' | 'logIndex', provider: string): bigint {
  return readFrom({ value: log[field], provider }, (value) => quantity(value, field))
}
