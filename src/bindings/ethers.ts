/** The published entry `quittance/contracts/ethers`: the contracts as ethers calls them. */
import '../base/require-node.ts'

export {
  /** Deploys the reference dollar with ethers, or connects to one that is there. */
  ReferenceDollar__factory,
  /** Deploys the settlement contract with ethers, or connects to one that is there. */
  Settlement__factory,
} from './typechain/index.ts'
export type {
  /** The reference dollar as ethers calls it, each function with its types. */
  ReferenceDollar,
  /** The settlement contract as ethers calls it, each function with its types. */
  Settlement,
} from './typechain/index.ts'
