import type { HardhatEthers } from '@nomicfoundation/hardhat-ethers/types'

import type { UsdcShape } from './mocks.ts'
import { strangerAt } from './orders.ts'

/** The token's implementation, not initialized: alone, it is USDC without its proxy. */
export async function deployBareUsdc(ethers: HardhatEthers): Promise<UsdcShape> {
  const signatures = await ethers.deployContract('UsdcShapeSignatures')
  const libraries = { UsdcShapeSignatures: await signatures.getAddress() }
  return (await ethers.deployContract('UsdcShape', { libraries })) as unknown as UsdcShape
}

/** A token behind its proxy, whose owner may mint. */
export async function deployUsdc(ethers: HardhatEthers): Promise<UsdcShape> {
  const implementation = await deployBareUsdc(ethers)
  const proxy = await ethers.deployContract('UsdcShapeProxy', [implementation, strangerAt(9999)])
  const usdc = await ethers.getContractAt('UsdcShape', await proxy.getAddress())
  return usdc as unknown as UsdcShape
}

/** The domain that the token's signatures are for. */
export async function usdcDomain(ethers: HardhatEthers, usdc: UsdcShape) {
  const { chainId } = await ethers.provider.getNetwork()
  return { name: 'USD Coin', version: '2', chainId, verifyingContract: await usdc.getAddress() }
}
