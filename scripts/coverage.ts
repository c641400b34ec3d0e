import { spawn } from 'node:child_process'

/** What must be covered to the last line and the last statement. */
const CONTRACTS = ['Payments', 'ReferenceDollar', 'Settlement']

/** Solidity tests alone must cover all. Instruments cost gas: a test that bounds it is left out. */
const child = spawn(
  'hardhat',
  ['test', 'solidity', '--coverage', '--grep-exclude', 'boundsWhatABadPayeeCosts'],
  { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, FUZZ_RUNS: '16' } },
)
let printed = ''
child.stdout.on('data', (chunk: Buffer) => {
  printed += chunk.toString()
  process.stdout.write(chunk)
})
const code = await new Promise<number | null>((resolve) => child.on('close', resolve))

const short = CONTRACTS.filter((name) => {
  const row = new RegExp(`contracts/${name}\\.sol +│ 100\\.00 +│ 100\\.00 `)
  return !row.test(printed)
})
if (short.length > 0) console.error(`Not covered in full: ${short.join(', ')}`)
process.exitCode = code === 0 && short.length === 0 ? 0 : 1
