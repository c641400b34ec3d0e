import { hexlify, parseEther, randomBytes } from 'ethers'
import { network } from 'hardhat'
import { Settlement__factory, type Settlement } from 'quittance/contracts/ethers'

const { ethers } = await network.create()
const [payer] = await ethers.getSigners()
if (payer === undefined) throw new Error('The network has no account.')

const settlement: Settlement = await new Settlement__factory(payer).deploy()
await settlement.waitForDeployment()
console.log(`deployed at ${await settlement.getAddress()}`)

const reference = hexlify(randomBytes(32))
const payee = '0x00000000000000000000000000000000000000AA'
const paid = await settlement.settle(reference, payee, { value: parseEther('0.25') })
await paid.wait()

const [event] = await settlement.queryFilter(settlement.filters.Settled(reference))
console.log(`paid ${event?.args.amount} wei to ${event?.args.payee}`)
console.log(`settled: ${await settlement.isSettled(payer.address, reference)}`)

const again = await settlement.settle.staticCall(reference, payee, { value: 1n }).then(
  () => 'was accepted',
  () => 'is refused',
)
console.log(`a second payment ${again}`)
