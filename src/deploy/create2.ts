import type { Address, Hex, TransactionSerializedLegacy } from 'viem'
import { getContractAddress, parseGwei, serializeTransaction, stringToHex } from 'viem/utils'

/**
 * The deterministic deployer, a contract of 69 bytes that is at one address on nearly every chain.
 * It creates whatever code it is sent with CREATE2, so the address of a contract depends on its
 * code and the salt, and neither on the chain nor on who pays for the deployment.
 */
export const DETERMINISTIC_DEPLOYER: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'

export const DETERMINISTIC_DEPLOYER_CODE: Hex =
  '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3'

/** The address that signed the deployer's one transaction; nobody holds a key to it. */
export const DETERMINISTIC_DEPLOYER_SIGNER: Address = '0x3fAB184622Dc19b6109349B94811493BF2a45362'

/** What the signer must hold for its transaction to be accepted: gas limit times gas price. */
export const DETERMINISTIC_DEPLOYER_COST = 100_000n * parseGwei('100')

/** Never change it: the address of every deployment follows from it. */
export const DEPLOYMENT_SALT: Hex = stringToHex('quittance', { size: 32 })

export function create2Address(initCode: Hex): Address {
  return getContractAddress({
    opcode: 'CREATE2',
    from: DETERMINISTIC_DEPLOYER,
    salt: DEPLOYMENT_SALT,
    bytecode: initCode,
  })
}

/** The call to the deterministic deployer that creates the contract at `create2Address`. */
export function create2Call(initCode: Hex): { to: Address; data: Hex } {
  return { to: DETERMINISTIC_DEPLOYER, data: `${DEPLOYMENT_SALT}${initCode.slice(2)}` }
}

/**
 * The transaction that puts the deterministic deployer on a chain that lacks it. Its signature was
 * chosen and its signer follows from that, so it is the same on every chain. It is tied to no chain
 * id, which some nodes refuse.
 */
export function presignedDeployerTransaction(): TransactionSerializedLegacy {
  return serializeTransaction(
    {
      type: 'legacy',
      nonce: 0,
      gas: 100_000n,
      gasPrice: parseGwei('100'),
      data: `${DEPLOYER_CONSTRUCTOR}${DETERMINISTIC_DEPLOYER_CODE.slice(2)}`,
    },
    { r: CHOSEN_SIGNATURE_HALF, s: CHOSEN_SIGNATURE_HALF, v: 27n },
  )
}

/** Returns the 69 bytes that follow it. */
const DEPLOYER_CONSTRUCTOR = '0x604580600e600039806000f350fe'
const CHOSEN_SIGNATURE_HALF: Hex = `0x${'22'.repeat(32)}`
