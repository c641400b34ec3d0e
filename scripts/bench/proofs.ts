/** What a proof of one payment costs: made of a block of many, and checked without the chain. */
import { keccak256, toBytes, type Hex } from 'viem'

import { check } from '../../src/verify/check.ts'
import { prove } from '../../src/verify/prove.ts'
import { cpuTimeOf } from '../../test/engines/bench/cpu.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import {
  CHAIN_ID,
  calls,
  reference,
  startPaidChain,
  type PaidChain,
} from '../../test/fixtures/books/verify.ts'

const PAYMENTS = Number(process.env['BENCH_PAYMENTS'] ?? 400)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 15)

const world = await startPaidChain()
try {
  const hash = await fillBlock(world)
  const node = world.node('a')
  const block = (await node.request({ method: 'eth_getTransactionByHash', params: [hash] })) as {
    blockNumber: Hex
  }
  const make = async (): Promise<string> => {
    const proof = await prove({ chainId: CHAIN_ID, hash }, { providers: [node], confirmations: 1 })
    return proof.quittance ?? ''
  }
  const text = await make()
  const trustedBlockHash = (JSON.parse(text) as { block: { hash: Hex } }).block.hash
  const { status } = await check(text, { trustedBlockHash })
  if (status !== 'holds') throw new Error(`the proof ${status}`)
  const bytes = toBytes(text)

  const proving = await leastOf(make)
  const reading = await leastOf(() =>
    node.request({ method: 'eth_getBlockReceipts', params: [block.blockNumber] }),
  )
  const checking = await leastOf(() => check(text, { trustedBlockHash }))
  const hashing = await leastOf(async () => keccak256(bytes))
  tellRows('proofs', [
    {
      what: `a proof made of a block of ${PAYMENTS} payments`,
      unit: 'ms of the processor',
      ours: proving,
      floor: { what: 'reading the receipts of the block', value: reading },
    },
    {
      what: `the same checked without the chain, ${bytes.length} bytes`,
      unit: 'ms of the processor',
      ours: checking,
      floor: { what: 'one hash of the file', value: hashing },
    },
  ])
  console.log(`a block of ${PAYMENTS} payments, least of ${ROUNDS}, processor time`)
  console.log(`made in ${proving.toFixed(1)} ms; reading its receipts takes ${reading.toFixed(1)}`)
  console.log(`checked in ${checking.toFixed(2)} ms; one hash of it takes ${hashing.toFixed(2)}`)
} finally {
  await world.chain.stop()
}

/** All in one block; the proof is of one in its middle. */
async function fillBlock({ chain, settlement, payee, payer }: PaidChain): Promise<Hex> {
  await chain.client.setAutomine(false)
  await chain.client.setBlockGasLimit({ gasLimit: BigInt(PAYMENTS) * 200_000n })
  const hashes: Hex[] = []
  for (let sent = 0; sent < PAYMENTS; sent++) {
    const data = calls.settle(reference(sent + 1), payee)
    const call = { from: payer, to: settlement, data, value: '0xfa', gas: '0x249f0' }
    const sending = { method: 'eth_sendTransaction', params: [call] }
    const hash: unknown = await chain.client.request(sending as never)
    hashes.push(hash as Hex)
  }
  await chain.client.mine({ blocks: 1 })
  return hashes[Math.floor(PAYMENTS / 2)]!
}

async function leastOf(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity
  for (let round = 0; round < ROUNDS; round++) least = Math.min(least, await cpuTimeOf(work))
  return least
}
