/** The published entry `quittance/contracts`: what a program needs to talk to the contracts. */
export { referenceDollarAbi, settlementAbi } from './abis.ts'
export { addressesByChain, settlementAddress } from './addresses.ts'
export { referenceDollarCode, settlementCode } from './code.ts'
export { ReferenceDollar__factory, Settlement__factory } from './typechain/index.ts'
export type { ReferenceDollar, Settlement } from './typechain/index.ts'
