import { concat, getAddress, keccak256, toBeHex, toUtf8Bytes } from 'ethers'

import type { HardhatEthers } from '@nomicfoundation/hardhat-ethers/types'

/** A reference as the codec makes them: 31 bytes of a hash for the block, one byte of counter. */
export function referenceOf(block: string, counter: number): string {
  return concat([keccak256(toUtf8Bytes(block)).slice(0, 64), toBeHex(counter, 1)])
}

/** Consecutive references from the counter on, over as many words as it takes. */
export function denseReferences(block: string, options: { from: number; count: number }): string[] {
  return Array.from({ length: options.count }, (_, i) => {
    const counter = options.from + i
    return referenceOf(`${block} ${Math.floor(counter / 256)}`, counter % 256)
  })
}

/** An address that nobody has the key of, the same in every run. */
export function strangerAt(index: number): string {
  return getAddress(`0x${keccak256(toUtf8Bytes(`payee ${index}`)).slice(26)}`)
}

/** Strangers who hold one wei, so that paying them creates no account. */
export async function fundedStrangers(ethers: HardhatEthers, count: number): Promise<string[]> {
  const strangers = Array.from({ length: count }, (_, i) => strangerAt(i))
  for (const stranger of strangers) {
    await ethers.provider.send('hardhat_setBalance', [stranger, '0x1'])
  }
  return strangers
}
