/** The published entry `quittance/contracts`: what a program needs to talk to the contracts. */
import '../base/require-node.ts'

export { referenceDollarAbi, settlementAbi } from './abis.ts'
export { addressesByChain, settlementAddress } from './addresses.ts'
export { referenceDollarCode, settlementCode } from './code.ts'
