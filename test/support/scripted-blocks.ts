import { createHash } from 'node:crypto'

import type { MinedSettlement } from '../../src/chain/settlements.ts'
import type { Hex } from '../../src/domain/orders.ts'
import type { CheckoutDeps } from '../../src/rails/checkout.ts'

/** What somebody pays, and as which log of its block. */
export type ScriptedPayment = { reference: Hex; amount: bigint; token: Hex | undefined } & Partial<
  Pick<MinedSettlement, 'transactionHash' | 'logIndex' | 'payer'>
>

/** A chain that is what the test says, where every block is final at once. */
export type ScriptedBlocks = Pick<
  CheckoutDeps,
  'readFinal' | 'blocks' | 'settlements' | 'readReceipt'
> & {
  /** One block with these payments; its time is the one that is given, or the clock's. */
  mine: (payments?: readonly ScriptedPayment[], time?: Date) => void
  /** So many of the last blocks are gone; others with nothing in them stand in their place. */
  replace: (depth: number) => void
}

type Block = { hash: Hex; time: Date; settled: MinedSettlement[] }

export function createScriptedBlocks(options: { payee: Hex; now: () => Date }): ScriptedBlocks {
  const { payee, now } = options
  const chain: Block[] = []
  let made = 0
  const mine: ScriptedBlocks['mine'] = (payments = [], time = now()) => {
    made += 1
    const place = { blockNumber: BigInt(chain.length), blockHash: hashOf(`block ${made}`) }
    const settled = payments.map((payment, logIndex) => ({
      payee,
      payer: payee,
      logIndex,
      transactionHash: hashOf(payment.reference),
      ...payment,
      ...place,
    }))
    chain.push({ hash: place.blockHash, time, settled })
  }
  mine()
  return {
    mine,
    replace(depth) {
      chain.length -= depth
      for (let block = 0; block < depth; block += 1) mine()
    },
    readFinal: async () => ({ value: BigInt(chain.length - 1) }) as never,
    blocks: {
      async block(number) {
        const block = chain[Number(number)]
        return block && { number, hash: block.hash, time: block.time }
      },
    },
    settlements: async ({ from, to }) =>
      chain.slice(Number(from), Number(to) + 1).flatMap(({ settled }) => settled),
    async readReceipt({ hash, logIndex }) {
      const all = chain.flatMap(({ settled }) => settled)
      const settled = all.find((one) => one.transactionHash === hash && one.logIndex === logIndex)
      const { blockHash } = settled ?? {}
      return settled && blockHash && { settled, blockHash, contract: payee, ...GAS }
    },
  }
}

const GAS = { gasUsed: 50_000n, gasPrice: 2n }

export function hashOf(text: string): Hex {
  return `0x${createHash('sha256').update(text).digest('hex')}`
}
