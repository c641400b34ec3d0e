import { expect } from 'chai'
import type { Hex } from 'viem'

import { judge } from '../../src/reconciler/judge/judge.ts'
import { readRecord, type RecordFields } from '../../src/reconciler/sources/records.ts'

const HASH: Hex = `0x${'11'.repeat(32)}`
const ADDRESS: Hex = `0x${'22'.repeat(20)}`

// A record's fee, beside a receipt of 21,000 gas at 10 wei whose rollup has charged 500 wei more
// ├── matches with what the rollup has charged, and without a word of it
// └── is a break with another charge, with none, and with other gas
describe('the fee of a record on a rollup', () => {
  const gas = { gas_used: '21000', gas_price: '10' }

  it('holds with what the rollup has charged', () => {
    expect(kindsOf({ ...gas, rollup_fee: '500' })).to.deep.equal([])
    expect(kindsOf(gas)).to.deep.equal([])
  })

  it('is a break where the charge or the gas is another', () => {
    expect(kindsOf({ ...gas, rollup_fee: '499' })).to.deep.equal(['fee_mismatch'])
    expect(kindsOf({ ...gas, rollup_fee: '0' })).to.deep.equal(['fee_mismatch'])
    expect(kindsOf({ ...gas, gas_used: '21001', rollup_fee: '500' })).to.deep.equal([
      'fee_mismatch',
    ])
  })

  it('shows both fees whole', () => {
    const judgement = judged({ ...gas, rollup_fee: '499' })
    const [found] = judgement.state === 'broken' ? judgement.breaks : []
    expect(found?.recorded).to.include({ fee_wei: '210499' })
    expect(found?.onChain).to.include({ fee_wei: '210500' })
  })
})

function kindsOf(fields: RecordFields): string[] {
  const judgement = judged(fields)
  return judgement.state === 'broken' ? judgement.breaks.map(({ kind }) => kind) : []
}

function judged(fields: RecordFields) {
  const paid = { transaction_id: 'TX1', eth_transaction_hash: HASH, status: 'completed' }
  const record = readRecord({ ...paid, ...fields }, 1)
  if (typeof record === 'string') throw new Error(record)
  const receipt = {
    hash: HASH,
    block: { number: 1n, hash: HASH },
    succeeded: true,
    gasUsed: 21_000n,
    gasPrice: 10n,
    rollupFee: 500n,
    from: ADDRESS,
    to: ADDRESS,
    logs: [],
  }
  const transaction = {
    hash: HASH,
    from: ADDRESS,
    to: ADDRESS,
    value: 1n,
    nonce: 0n,
    input: '0x' as Hex,
  }
  const mined = {
    receipt,
    transaction,
    isCanonical: true,
    timeMs: 0,
    isFinal: true,
    agreeing: ['one'],
  }
  const contracts = { settlement: undefined, tokens: new Map<Hex, number>() }
  const rules = { contracts, nowMs: 0, graceMs: 0, lagGraceMs: 0 }
  return judge(record, { kind: 'mined', ...mined }, rules)
}
