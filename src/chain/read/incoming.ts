import {
  AnswerError,
  data,
  readBlock,
  readLogs,
  readReceipt,
  record,
  toQuantity,
  type MinedLog,
  type ShownTransaction,
} from '../answers.ts'
import type { Hex } from '../hex.ts'
import { readTransaction } from '../proof/transaction.ts'
import type { Providers } from '../rpc/providers.ts'
import { askAgreed } from './agreed.ts'
import { BlockReplacedError, type TimedBlock } from './blocks.ts'
import { decodeEvent, topicOf } from './events.ts'
import { decodeSettled } from './settled.ts'

/** Coin or tokens that came to an address in a block. */
export type Incoming = {
  transactionHash: Hex
  /** The place of its log; -1 where the transaction itself carries the coin. */
  logIndex: number
  payer: Hex
  payee: Hex
  /** Undefined for the native coin. */
  token: Hex | undefined
  amount: bigint
  /** Where it came by the settlement contract. */
  settled: { contract: Hex; reference: Hex } | undefined
}

/** A block with what moved in it. */
export type IncomingBlock = {
  block: TimedBlock
  parentHash: Hex
  incoming: readonly Incoming[]
  /** Those of its transactions that we have signed ourselves. */
  signed: ReadonlyMap<Hex, Signed>
}

/** What its receipt says of a transaction. */
export type IncomingReceipt = { succeeded: boolean; gasUsed: bigint; gasPrice: bigint }

/**
 * Reads all movements of a block, for any payee: from the block's transactions and one query for
 * logs, however many addresses there are. With two providers or more, two must agree on all of it.
 * While they do not, it rejects, and may succeed later.
 */
export type IncomingReader = {
  /** Undefined while there is no such block. A transaction that carries coin may have failed. */
  block: (number: bigint, signal: AbortSignal) => Promise<IncomingBlock | undefined>
  receipt: (
    of: { transactionHash: Hex; blockHash: Hex },
    signal: AbortSignal,
  ) => Promise<IncomingReceipt>
}

export function createIncomingReader(deps: {
  providers: Pick<Providers, 'askAll'>
  /** Those that are configured; all others are worth nothing. */
  tokens: readonly Hex[]
  settlement: Hex | undefined
  /** Of these transactions those that we have signed ourselves. */
  signedOf: (hashes: readonly Hex[]) => Promise<ReadonlyMap<Hex, Signed>>
}): IncomingReader {
  const { providers, tokens, settlement } = deps
  const addresses = [...tokens, ...(settlement === undefined ? [] : [settlement])]
  const shownAt = createShownReader(deps)
  return {
    async block(number, signal) {
      const at = toQuantity(number)
      const found = await shownAt(at, signal)
      if (found === undefined) return undefined
      const { block, parentHash, transactions, signed } = found
      const logs =
        transactions.length === 0 || addresses.length === 0
          ? []
          : await askAgreed(providers, {
              call: { method: 'eth_getLogs', params: [logsAt(at, addresses)], signal },
              read: readLogs,
            })
      if (block.number !== number || logs.some(({ blockHash }) => blockHash !== block.hash)) {
        throw new BlockReplacedError()
      }
      const moved = readMoved(logs, { tokens, settlement })
      return { block, parentHash, signed, incoming: [...carriedBy(transactions), ...moved] }
    },
    async receipt({ transactionHash, blockHash }, signal) {
      const read = await askAgreed(providers, {
        call: { method: 'eth_getTransactionReceipt', params: [transactionHash], signal },
        read: (result) => (result === null ? undefined : readReceipt(result)),
      })
      if (read?.block.hash !== blockHash) throw new BlockReplacedError()
      const { succeeded, gasUsed, gasPrice } = read
      return { succeeded, gasUsed, gasPrice }
    },
  }
}

function logsAt(at: Hex, address: readonly Hex[]) {
  return {
    address,
    topics: [[topicOf('Transfer'), topicOf('Settled')]],
    fromBlock: at,
    toBlock: at,
  }
}

/** A transaction of ours, as it was sent. */
export type Signed = { signer: Hex; raw: Hex }

type Shown = Pick<ShownTransaction, 'hash' | 'from' | 'to' | 'value'>

type ShownBlock = Omit<IncomingBlock, 'incoming'> & { transactions: readonly Shown[] }

/**
 * Reads a block with what its transactions say. For a full one the node finds out who signed each
 * of them, which takes it longer than anything else that it is asked. What we have signed ourselves
 * we know by its hash. So after a block with no others, the next one is asked for with hashes.
 */
function createShownReader({
  providers,
  signedOf,
}: Pick<Parameters<typeof createIncomingReader>[0], 'providers' | 'signedOf'>) {
  let wereAllOurs = false
  return async (at: Hex, signal: AbortSignal): Promise<ShownBlock | undefined> => {
    const ask = (isFull: boolean) =>
      askAgreed(providers, {
        call: { method: 'eth_getBlockByNumber', params: [at, isFull], signal },
        read: (result) => (result === null ? undefined : readShown(result, isFull)),
      })
    const lookUp = async (hashes: readonly Hex[]) => {
      const signed = hashes.length === 0 ? new Map<Hex, Signed>() : await signedOf(hashes)
      const areAllOurs = hashes.every((hash) => signed.has(hash))
      // An empty block says nothing of the next one.
      if (hashes.length > 0) wereAllOurs = areAllOurs
      return { signed, areAllOurs }
    }
    if (wereAllOurs) {
      const found = await ask(false)
      if (found === undefined) return undefined
      const { signed, areAllOurs } = await lookUp(found.hashes)
      if (areAllOurs) return { ...found, signed, transactions: [...signed].map(shownOf) }
    }
    const found = await ask(true)
    return found && { ...found, signed: (await lookUp(found.hashes)).signed }
  }
}

function readShown(result: unknown, isFull: boolean) {
  const parentHash = data(record(result, 'block')['parentHash'], 'parentHash', 32)
  const { number, hash, timeMs, hashes, transactions } = readBlock(result)
  if (isFull && transactions === undefined) throw new AnswerError('transactions')
  const block: TimedBlock = { number, hash, time: new Date(timeMs) }
  return { block, parentHash, hashes, transactions: [...(transactions?.values() ?? [])] }
}

function shownOf([hash, { signer, raw }]: [Hex, Signed]): Shown {
  const { to, value } = readTransaction(raw)
  return { hash, from: signer, to: to.toLowerCase() as Hex, value }
}

/** The transactions that carry coin. */
function carriedBy(transactions: readonly Shown[]): Incoming[] {
  return transactions.flatMap(
    ({ hash: transactionHash, from: payer, to: payee, value: amount }) => {
      if (payee === null || amount === 0n) return []
      const common = { token: undefined, settled: undefined }
      return { transactionHash, logIndex: -1, payer, payee, amount, ...common }
    },
  )
}

/**
 * What tokens and the settlement contract log. A settlement of a token is the same movement as the
 * transfer next to it, and has more details.
 */
function readMoved(
  logs: readonly MinedLog[],
  { tokens, settlement }: { tokens: readonly Hex[]; settlement: Hex | undefined },
): Incoming[] {
  const transfers = new Map<string, Incoming[]>()
  const settlements: Incoming[] = []
  for (const log of logs) {
    const { transactionHash, logIndex, address } = log
    const settled = settlement && decodeSettled(log, settlement)
    if (settled !== undefined) {
      const { payer, payee, token, amount, reference } = settled
      const by = { contract: address, reference }
      settlements.push({ transactionHash, logIndex, payer, payee, token, amount, settled: by })
      continue
    }
    const { name, args } = decodeEvent(log) ?? {}
    if (name !== 'Transfer' || !tokens.includes(address)) continue
    const [payer, payee, amount] = [args!['from'] as Hex, args!['to'] as Hex, args!['amount']]
    if (typeof amount !== 'bigint' || amount === 0n) continue
    const token = address
    const moved = { transactionHash, logIndex, payer, payee, token, amount, settled: undefined }
    transfers.set(nameOf(moved), [...(transfers.get(nameOf(moved)) ?? []), moved])
  }
  const proven = settlements.filter((one) => {
    // A settlement in a token that moved nothing, or that nobody configured, is worth nothing.
    return one.token === undefined || transfers.get(nameOf(one))?.shift() !== undefined
  })
  return [...proven, ...[...transfers.values()].flat()]
}

function nameOf({ transactionHash, payee, token, amount }: Incoming): string {
  return [transactionHash, payee, token, amount].join()
}
