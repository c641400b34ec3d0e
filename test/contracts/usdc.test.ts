import type { HardhatEthers, HardhatEthersSigner } from '@nomicfoundation/hardhat-ethers/types'
import { expect } from 'chai'
import { Signature, type Wallet, ZeroAddress, concat } from 'ethers'
import { network } from 'hardhat'

import type { Settlement } from '../../src/bindings/ethers.ts'
import { deploySettlement } from '../fixtures/contracts/gas.ts'
import type { UsdcShape } from '../fixtures/contracts/mocks.ts'
import { referenceOf, strangerAt } from '../fixtures/contracts/orders.ts'
import { signAuthorization, signPermit } from '../fixtures/contracts/signing.ts'
import { deployUsdc, usdcDomain } from '../fixtures/contracts/usdc.ts'
import { delegate, mined, walletAt } from '../fixtures/contracts/wallets.ts'

// Payments in USDC by signature, from an account that has delegated its code (EIP-7702)
// ├── to code without ERC-1271
// │   ├── by permit: a simulation names the refused permit; an approval pays all the same
// │   ├── by authorization: a simulation has the token's own error, and nothing is marked
// │   └── and takes the delegation back: the same signature pays
// └── to code with ERC-1271: an authorization pays
describe('An account with delegated code that pays in USDC', () => {
  const payee = strangerAt(1)
  const value = 9n
  const [validAfter, deadline] = [0n, 4_102_444_800n]
  const reference = referenceOf('signed', 1)
  let ethers: HardhatEthers
  let payer: HardhatEthersSigner
  let settlement: Settlement
  let usdc: UsdcShape
  let holder: Wallet

  beforeEach(async () => {
    ethers = (await network.create()).ethers
    payer = (await ethers.getSigners())[0] as HardhatEthersSigner
    settlement = await deploySettlement(ethers)
    usdc = await deployUsdc(ethers)
    holder = walletAt(4).connect(ethers.provider)
    await ethers.provider.send('hardhat_setBalance', [holder.address, '0xde0b6b3a7640000'])
    await usdc.initialize(payer)
    await usdc.configureMinter(payer, 1000n)
    await usdc.mint(holder, 1000n)
  })

  it('cannot by a permit where its code knows no ERC-1271, and a simulation says so', async () => {
    const { settleWithPermit } = settlement.connect(holder)
    const terms = await permitted()
    await settleWithPermit.staticCall(...terms)
    await delegate(holder, { to: await ethers.deployContract('PlainDelegate'), by: payer })
    await expect(settleWithPermit.staticCall(...terms))
      .to.be.revertedWithCustomError(settlement, 'PermitRefused')
      .withArgs(usdc, holder.address, 0n, value)
    await delegate(holder, { to: ZeroAddress, by: payer })
    await mined(settleWithPermit(...terms))
    expect(await usdc.balanceOf(payee)).to.equal(value)
  })

  it('can with a permit that is refused where it has approved as much', async () => {
    const terms = await permitted()
    await delegate(holder, { to: await ethers.deployContract('PlainDelegate'), by: payer })
    await mined((usdc.connect(holder) as UsdcShape).approve(settlement, value))
    await mined(settlement.connect(holder).settleWithPermit(...terms))
    expect(await usdc.balanceOf(payee)).to.equal(value)
  })

  it('cannot by an authorization there, and a simulation says so', async () => {
    const terms = await authorized((signature) => signature)
    await settlement.settleWithAuthorization.staticCall(...terms)
    await delegate(holder, { to: await ethers.deployContract('PlainDelegate'), by: payer })
    await expect(settlement.settleWithAuthorization.staticCall(...terms)).to.be.revertedWith(
      'FiatTokenV2: invalid signature',
    )
    await delegate(holder, { to: ZeroAddress, by: payer })
    await mined(settlement.settleWithAuthorization(...terms))
    expect(await usdc.balanceOf(payee)).to.equal(value)
  })

  it('can by an authorization where its code knows ERC-1271', async () => {
    const terms = await authorized((signature) => concat(['0x01', signature]))
    const wallet = await ethers.deployContract('Wallet1271', [holder.address])
    await delegate(holder, { to: wallet, by: payer })
    await mined(settlement.settleWithAuthorization(...terms))
    expect(await usdc.balanceOf(payee)).to.equal(value)
  })

  async function permitted() {
    const [owner, spender] = [holder.address, await settlement.getAddress()]
    const permit = { owner, spender, value, nonce: 0n, deadline }
    const signed = await signPermit(holder, await usdcDomain(ethers, usdc), permit)
    const { v, r, s } = Signature.from(signed)
    return [reference, usdc, payee, value, { deadline, v, r, s }] as const
  }

  async function authorized(wrap: (signature: string) => string) {
    const nonce = await settlement.authorizationNonce(reference, usdc, payee)
    const [from, to] = [holder.address, await settlement.getAddress()]
    const authorization = { from, to, value, validAfter, validBefore: deadline, nonce }
    const signed = await signAuthorization(holder, await usdcDomain(ethers, usdc), {
      kind: 'Receive',
      authorization,
    })
    const order = [reference, usdc, payee, value] as const
    return [...order, from, validAfter, deadline, wrap(signed)] as const
  }
})
