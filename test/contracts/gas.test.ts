import { readFile } from 'node:fs/promises'

import { expect } from 'chai'
import { network } from 'hardhat'

import { type GasTable, measureGas, measureLargestBatches } from '../fixtures/contracts/gas.ts'

type Snapshot = Record<string, { transactions: GasTable; largestBatches: GasTable }>

/** A thousandth of what was measured when the snapshot was made. */
const TOLERANCE = 0.001

/** The limits, in gas, on today's fork: for coin those set before the first line was written. */
const LIMITS: GasTable = {
  'native, dense reference': 39_200,
  'native, first in a word': 56_300,
  'native by signed intent, dense': 46_000,
  'native batch of 100, per item, dense': 13_500,
  'partial batch of 100, per item, dense': 14_200,
  'partial batch of 100, what a bad recipient adds': 110_000,
  'token (USDC shape), dense': 67_400,
  'token batch of 100 (USDC shape), per item, dense': 18_300,
  'partial token batch of 100 (USDC shape), per item, dense': 19_450,
  'settleWithPermit (USDC shape), dense': 86_500,
  'token (ReferenceDollar), dense': 58_000,
  'token batch of 100 (ReferenceDollar), per item, dense': 15_300,
  'mintWithMemo, existing holder, dense': 47_000,
}

// Gas
// ├── stays where the snapshot has it, within a thousandth, on this fork
// ├── stays below the limits
// └── lets as many items into a batch as the snapshot says
describe('gas', () => {
  let measured: GasTable
  let snapshot: Snapshot[string]
  let isAmsterdam: boolean

  before(async () => {
    const connection = await network.create()
    isAmsterdam = connection.networkName === 'amsterdam'
    const file = new URL('gas.json', import.meta.url)
    const all = JSON.parse(await readFile(file, 'utf8')) as Snapshot
    snapshot = all[isAmsterdam ? 'amsterdam' : 'osaka'] as Snapshot[string]
    measured = await measureGas(connection.ethers)
  })

  it('drifts by no more than a thousandth', () => {
    expect(Object.keys(measured)).to.deep.equal(Object.keys(snapshot.transactions))
    const drifted = Object.entries(measured).filter(([row, gas]) => {
      const committed = snapshot.transactions[row] as number
      return Math.abs(gas - committed) > committed * TOLERANCE
    })
    expect(drifted).to.deep.equal([])
  })

  it('stays below the limits', () => {
    for (const [row, limit] of Object.entries(LIMITS)) {
      // New storage costs four times as much there, and no limit was set for that.
      if (isAmsterdam && row.includes('first in a word')) continue
      expect(measured[row], row).to.be.at.most(limit)
    }
  })

  it('lets as many items into a batch', async () => {
    const { ethers } = await network.create()
    const largest = await measureLargestBatches(ethers, snapshot.largestBatches)
    expect(Object.keys(largest)).to.deep.equal(Object.keys(snapshot.largestBatches))
    for (const [row, size] of Object.entries(largest)) {
      expect(size, row).to.be.closeTo(snapshot.largestBatches[row] as number, 2)
    }
  })
})
