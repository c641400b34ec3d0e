import { bytesToHex, encodeFunctionData, parseAbi } from 'viem/utils'

import type { Hex } from '../../domain/orders.ts'
import { data as bytes, readWord, word } from '../answers.ts'
import type { Providers } from '../rpc/providers.ts'
import { isRevert } from '../rpc/rpc-error.ts'

/** A transaction before it is signed: how long it is at most, and the gas that it may use. */
export type SizedTransaction = { bytes: number; gas: bigint }

/** What a rollup may charge for it in addition to its gas, in wei. */
export type ReadRollupFee = (of: SizedTransaction, signal: AbortSignal) => Promise<bigint>

/**
 * Asks the OP stack's own contract for what a transaction costs in addition to its gas. Undefined
 * where the chain has no such contract. On Arbitrum the gas estimate includes that cost.
 */
export async function findRollupFee(
  { ask }: Pick<Providers, 'ask'>,
  signal: AbortSignal,
): Promise<ReadRollupFee | undefined> {
  const { result } = await ask({ method: 'eth_getCode', params: [ORACLE, 'latest'], signal })
  if (bytes(result, 'code') === '0x') return undefined
  const call = async (data: Hex, signal: AbortSignal): Promise<unknown> => {
    const params = [{ to: ORACLE, data }, 'latest']
    try {
      return (await ask({ method: 'eth_call', params, signal })).result
    } catch (error) {
      // A later fork than this chain has introduced this function.
      if (isRevert(error)) return undefined
      throw error
    }
  }
  return async ({ bytes: size, gas }, signal) => {
    const [l1Fee, operatorFee] = await Promise.all([
      readL1Fee((data) => call(data, signal), size),
      call(operatorFeeCall(gas), signal),
    ])
    // L1 may grow dearer before the transaction is mined.
    return (l1Fee * 3n) / 2n + (readWord(operatorFee) ?? 0n)
  }
}

/** At the same address on every chain of the OP stack. */
const ORACLE: Hex = '0x420000000000000000000000000000000000000f'

async function readL1Fee(call: (data: Hex) => Promise<unknown>, size: number): Promise<bigint> {
  const bound = await call(
    encodeFunctionData({ abi: ABI, functionName: 'getL1FeeUpperBound', args: [BigInt(size)] }),
  )
  if (bound !== undefined) return word(bound, 'L1 fee')
  // Before Fjord: of bytes that do not compress.
  const sample = bytesToHex(new Uint8Array(size).fill(0xff))
  const args = [sample] as const
  return word(
    await call(encodeFunctionData({ abi: ABI, functionName: 'getL1Fee', args })),
    'L1 fee',
  )
}

function operatorFeeCall(gas: bigint): Hex {
  return encodeFunctionData({ abi: ABI, functionName: 'getOperatorFee', args: [gas] })
}

const ABI = parseAbi([
  'function getL1FeeUpperBound(uint256 unsignedSize) view returns (uint256)',
  'function getL1Fee(bytes transaction) view returns (uint256)',
  'function getOperatorFee(uint256 gasUsed) view returns (uint256)',
])
