import { expect } from 'chai'

import type { Hex } from '../../../src/chain/hex.ts'
import {
  agree,
  createPanel,
  type ChainFact,
  type NodeAnswer,
} from '../../../src/reconciler/chain/agree.ts'

const HEAD = { number: 100n, timeMs: 1_000, final: 90n }
const ACCOUNT: Hex = `0x${'11'.repeat(20)}`

function minedIn(number: bigint, data: Hex = '0x01'): NodeAnswer {
  const receipt = {
    hash: `0x${'22'.repeat(32)}` as const,
    block: { number, hash: `0x${'33'.repeat(32)}` as const },
    succeeded: true,
    gasUsed: 21_000n,
    gasPrice: 1n,
    rollupFee: 0n,
    from: ACCOUNT,
    to: ACCOUNT,
    logs: [{ address: ACCOUNT, topics: [], data }],
  }
  return { kind: 'mined', receipt, timeMs: 900, isCanonical: true, transaction: undefined }
}

/** What two nodes make of it, both of which must say so. */
function factOf(first: NodeAnswer, second: NodeAnswer): ChainFact {
  const heads = ['a', 'b'].map((name) => ({ name, head: HEAD }))
  const panel = createPanel({ heads, needed: 2, maxHeadAgeMs: undefined, nowMs: 1_000 })
  const answers = [first, second].map((answer, at) => ({ ...panel.nodes[at]!, answer }))
  return agree(answers, panel)
}

describe('what nodes agree on', () => {
  it('is final up to the last block that enough call final', () => {
    expect(factOf(minedIn(90n), minedIn(90n))).to.include({ kind: 'mined', isFinal: true })
    expect(factOf(minedIn(91n), minedIn(91n))).to.include({ kind: 'mined', isFinal: false })
  })

  it('is nothing where one says what the other does not', () => {
    const failed: NodeAnswer = { kind: 'failed', reason: 'timeout' }
    expect(factOf({ kind: 'absent' }, { kind: 'absent' }).kind).to.equal('absent')
    expect(factOf({ kind: 'absent' }, failed).kind).to.equal('unknown')
  })

  it('is contradicted where the logs of one receipt differ', () => {
    expect(factOf(minedIn(90n), minedIn(90n, '0x02')).kind).to.equal('contradicted')
  })
})
