import { BaseError } from '../../base/errors.ts'
import type { ShownTransaction } from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import { askEach, campsOf } from '../../chain/quorum.ts'
import { BREAK_MEANINGS } from '../../domain/breaks.ts'
import { placeOf, recordedOf, type Judgement } from '../judge/judge.ts'
import type { PaymentRecord } from '../sources/records.ts'
import { quorumOf, type Panel } from './agree.ts'
import type { Node } from './node.ts'

type Asking = { nodes: readonly Node[]; panel: Panel; signal: AbortSignal }

/**
 * What became of a transaction that no node knows, where the record says who signed it and with
 * which nonce. Undefined while its nonce is free, or where too few nodes can tell.
 */
export async function findReplacement(
  record: PaymentRecord,
  asking: Asking,
): Promise<Judgement | undefined> {
  const { signer, nonce } = record
  const { final } = asking.panel
  if (signer === undefined || nonce === undefined || final === undefined) return undefined
  const { told, failed } = await askEach(asking.nodes, (node) =>
    takerBy(node, { signer, nonce, high: final, signal: asking.signal }),
  )
  failed.forEach(quorumOf(asking).onFailure)
  const takers = told.flatMap(({ provider, value: taker }) => (taker ? [{ provider, taker }] : []))
  const [camp] = campsOf(takers, ({ taker }) => taker.hash)
  if (camp === undefined || camp.length < asking.panel.needed) return undefined
  const { taker } = camp[0]
  if (taker.hash === record.hash) return undefined
  return {
    state: 'broken',
    breaks: [
      {
        // Whether we signed the other one is known when all records are read.
        kind: 'replaced_unknown',
        recorded: recordedOf(record),
        onChain: {
          eth_transaction_hash: taker.hash,
          from_address: taker.from,
          to_address: taker.to,
          nonce: String(taker.nonce),
          amount_units: String(taker.value),
        },
        evidence: {
          meaning: BREAK_MEANINGS.replaced_unknown,
          providers: camp.map(({ provider }) => provider).join(', '),
          replaced_by: taker.hash,
          ...placeOf(record),
        },
      },
    ],
  }
}

/**
 * Which transaction took the nonce: the block is found by halving, and shows it. A node that keeps
 * no old state cannot tell, and fails.
 */
export async function takerBy(
  node: Node,
  wanted: { signer: Hex; nonce: bigint; high: bigint; signal: AbortSignal },
): Promise<ShownTransaction | undefined> {
  const { signer, nonce, signal } = wanted
  const isTakenAt = async (at: bigint) => (await node.nonceAt(signer, at, signal)) > nonce
  if (!(await isTakenAt(wanted.high))) return undefined
  let low = -1n
  let { high } = wanted
  // It halves in each round, and numbers of blocks have 64 bits.
  for (let round = 0; round < 64 && high - low > 1n; round++) {
    const middle = (low + high) / 2n
    if (await isTakenAt(middle)) high = middle
    else low = middle
  }
  const block = (await node.blocks([{ number: high, isFull: true }], signal)).get(high)
  if (!block || block instanceof BaseError) return undefined
  const transactions = [...(block.transactions?.values() ?? [])]
  return transactions.find((one) => one.from === signer && one.nonce === nonce)
}
