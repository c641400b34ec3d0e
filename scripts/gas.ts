import { readFile, writeFile } from 'node:fs/promises'

import { network } from 'hardhat'

import { tellRows } from '../test/engines/bench/result.ts'
import { type GasTable, measureGas, measureLargestBatches } from '../test/fixtures/contracts/gas.ts'

/** What the tests hold the contracts to. `GAS_WRITE=1 npm run bench:gas` renews it. */
const snapshotPath = new URL('../test/contracts/gas.json', import.meta.url)
const FORKS = ['osaka', 'amsterdam'] as const
const write = process.env['GAS_WRITE'] === '1'

type Snapshot = Record<string, { transactions: GasTable; largestBatches: GasTable }>

const snapshot: Snapshot = {}
for (const fork of FORKS) {
  snapshot[fork] = {
    transactions: await measureGas((await network.create(fork)).ethers),
    largestBatches: await measureLargestBatches((await network.create(fork)).ethers),
  }
}
printTables(snapshot, write ? snapshot : JSON.parse(await readFile(snapshotPath, 'utf8')))
tellGas(snapshot['osaka']?.transactions ?? {})
if (write) await writeFile(snapshotPath, `${JSON.stringify(snapshot, null, 2)}\n`)

function tellGas(gas: GasTable) {
  const row = (what: string, peer?: string, floor?: string) => ({
    what,
    unit: 'gas',
    ours: gas[what] ?? Number.NaN,
    ...(peer && { peer: { what: peer, value: gas[peer] ?? Number.NaN } }),
    ...(floor && { floor: { what: floor, value: gas[floor] ?? Number.NaN } }),
  })
  tellRows('gas', [
    row('native, dense reference', 'once-only by a mapping', 'event only, not once-only'),
    row('native batch of 100, per item, dense', 'plain transfer'),
    row('token (USDC shape), dense', undefined, 'token (USDC shape), plain transfer'),
    row('mintWithMemo, existing holder, dense', 'mint (USDC shape), without a memo'),
  ])
}

function printTables(measured: Snapshot, committed: Snapshot) {
  for (const part of ['transactions', 'largestBatches'] as const) {
    const title = part === 'transactions' ? 'gas, whole transaction' : 'items below 16,777,216 gas'
    console.log(`\n${title.padEnd(60)}${FORKS.map((fork) => fork.padStart(12)).join('')}`)
    for (const row of Object.keys(measured[FORKS[0]]?.[part] ?? {})) {
      const cells = FORKS.map((fork) => {
        const [now, then] = [measured[fork]?.[part][row], committed[fork]?.[part][row]]
        return `${now?.toLocaleString('en')}${now === then ? '' : '*'}`.padStart(12)
      })
      console.log(`${row.padEnd(60)}${cells.join('')}`)
    }
  }
  console.log('\n* differs from test/contracts/gas.json')
}
