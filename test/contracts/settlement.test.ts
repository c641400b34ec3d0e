import type { HardhatEthers, HardhatEthersSigner } from '@nomicfoundation/hardhat-ethers/types'
import { expect } from 'chai'
import {
  type ContractTransactionReceipt,
  ZeroAddress,
  getCreate2Address,
  id,
  keccak256,
} from 'ethers'
import { artifacts, network } from 'hardhat'

import {
  type ReferenceDollar,
  type Settlement,
  Settlement__factory,
} from '../../src/bindings/ethers.ts'
import { deployDollar, deploySettlement } from '../fixtures/contracts/gas.ts'
import {
  denseReferences,
  fundedStrangers,
  referenceOf,
  strangerAt,
} from '../fixtures/contracts/orders.ts'
import { signAuthorization, signIntent, signPermit } from '../fixtures/contracts/signing.ts'
import { delegate, mined, walletAt } from '../fixtures/contracts/wallets.ts'

// What only whole transactions show
// ├── receipts: an event per payment, none for an item that failed; amsterdam adds logs of its own
// ├── signatures that ethers makes: intents, permits, authorizations; another chain's are refused
// ├── accounts with delegated code (EIP-7702): as operator and as payee
// └── the build: size, creation code, payable functions, selectors
describe('Settlement', () => {
  let ethers: HardhatEthers
  let isAmsterdam: boolean
  let payer: HardhatEthersSigner
  let settlement: Settlement

  beforeEach(async () => {
    const connection = await network.create()
    ethers = connection.ethers
    isAmsterdam = connection.networkName === 'amsterdam'
    payer = (await ethers.getSigners())[0] as HardhatEthersSigner
    settlement = await deploySettlement(ethers)
  })

  describe('receipts', () => {
    it('logs one event for one payment, beside what the chain logs on amsterdam', async () => {
      const [payee] = (await fundedStrangers(ethers, 1)) as [string]
      const receipt = await mined(settlement.settle(referenceOf('a', 1), payee, { value: 5n }))
      const settled = settledEvents(receipt)
      expect(settled).to.deep.equal([
        {
          orderReference: referenceOf('a', 1),
          payer: payer.address,
          payee,
          token: ZeroAddress,
          amount: 5n,
        },
      ])
      expect(receipt.logs).to.have.length(isAmsterdam ? 3 : 1)
      const foreign = receipt.logs.filter((log) => log.address !== receipt.to)
      for (const log of foreign) {
        expect(log.address.toLowerCase()).to.equal('0xfffffffffffffffffffffffffffffffffffffffe')
      }
    })

    it('logs what was paid and what was not, and nothing that was taken back', async () => {
      const refusing = await (await ethers.deployContract('RefusingReceiver')).getAddress()
      for (const pattern of [0b0000_0000, 0b1111_1111, 0b1010_0110, 0b0100_0001]) {
        const references = denseReferences(`pattern ${pattern}`, { from: 250, count: 8 })
        const isBad = (i: number) => (pattern & (1 << i)) !== 0
        const payees = references.map((_, i) => (isBad(i) ? refusing : strangerAt(i)))
        const amounts = references.map((_, i) => BigInt(i + 1))
        const before = await ethers.provider.getBalance(payer)
        const receipt = await mined(
          settlement.settleBatchPartial(references, payees, amounts, { value: 36n }),
        )

        const good = references.filter((_, i) => !isBad(i))
        expect(settledEvents(receipt).map((event) => event['orderReference'])).to.deep.equal(good)
        const failed = await settlement.queryFilter(
          settlement.filters.SettlementFailed(),
          receipt.blockNumber,
          receipt.blockNumber,
        )
        expect(failed.map((event) => event.args.orderReference)).to.deep.equal(
          references.filter((_, i) => isBad(i)),
        )
        const refused = settlement.interface.getError('PaymentRefused')?.selector
        for (const event of failed) expect(event.args.reason).to.equal(refused)
        const paid = amounts.filter((_, i) => !isBad(i)).reduce((sum, amount) => sum + amount, 0n)
        const spent = before - (await ethers.provider.getBalance(payer)) - receipt.fee
        expect(spent).to.equal(paid)
        expect(await settlement.areSettled(payer, references)).to.deep.equal(
          references.map((_, i) => !isBad(i)),
        )
      }
    })

    it('costs gas but pays no second time when a payment is retried', async () => {
      const [payee] = (await fundedStrangers(ethers, 1)) as [string]
      const pay = () => settlement.settle(referenceOf('a', 1), payee, { value: 5n })
      await mined(pay())
      await expect(pay())
        .to.be.revertedWithCustomError(settlement, 'AlreadySettled')
        .withArgs(payer.address, referenceOf('a', 1))
      expect(await ethers.provider.getBalance(payee)).to.equal(6n)
    })
  })

  describe('signatures', () => {
    let dollar: ReferenceDollar
    let holder: ReturnType<typeof walletAt>
    const payee = strangerAt(1)
    const orderReference = referenceOf('signed', 1)

    beforeEach(async () => {
      holder = walletAt(1).connect(ethers.provider)
      await ethers.provider.send('hardhat_setBalance', [holder.address, '0xde0b6b3a7640000'])
      dollar = await deployDollar(ethers, payer.address)
      await dollar.configureMinter(payer, 1_000_000n)
      await dollar.mintWithMemo(holder.address, 1000n, referenceOf('mint', 1))
    })

    it('takes an intent that ethers signed, and refuses it on another chain', async () => {
      const operator = walletAt(2)
      const intent = {
        operator: operator.address,
        orderReference,
        payee,
        token: ZeroAddress,
        amount: 7n,
        deadline: 4_102_444_800n,
      }
      const domain = await domainOf(settlement)
      const signature = await signIntent(operator, domain, intent)
      const receipt = await mined(settlement.settleWithIntent(intent, signature, { value: 7n }))
      expect(settledEvents(receipt)).to.have.length(1)
      expect(await settlement.isSettled(operator.address, orderReference)).to.equal(true)

      const later = { ...intent, orderReference: referenceOf('signed', 2) }
      const foreign = await signIntent(operator, { ...domain, chainId: 1n }, later)
      await expect(
        settlement.settleWithIntent(later, foreign, { value: 7n }),
      ).to.be.revertedWithCustomError(settlement, 'InvalidSignature')
    })

    it('takes a permit that ethers signed', async () => {
      const deadline = 4_102_444_800n
      const signature = ethers.Signature.from(
        await signPermit(holder, await domainOf(dollar), {
          owner: holder.address,
          spender: await settlement.getAddress(),
          value: 9n,
          nonce: 0n,
          deadline,
        }),
      )
      const { v, r, s } = signature
      await mined(
        settlement
          .connect(holder)
          .settleWithPermit(orderReference, dollar, payee, 9n, { deadline, v, r, s }),
      )
      expect(await dollar.balanceOf(payee)).to.equal(9n)
    })

    it('takes an authorization that ethers signed, from whoever submits it', async () => {
      const authorization = {
        from: holder.address,
        to: await settlement.getAddress(),
        value: 9n,
        validAfter: 0n,
        validBefore: 4_102_444_800n,
        nonce: await settlement.authorizationNonce(orderReference, dollar, payee),
      }
      const signature = await signAuthorization(holder, await domainOf(dollar), {
        kind: 'Receive',
        authorization,
      })
      const { validAfter, validBefore } = authorization
      const receipt = await mined(
        settlement.settleWithAuthorization(
          orderReference,
          dollar,
          payee,
          9n,
          holder.address,
          validAfter,
          validBefore,
          signature,
        ),
      )
      expect(settledEvents(receipt)[0]).to.include({ payer: holder.address, payee, amount: 9n })
      expect(await dollar.balanceOf(payee)).to.equal(9n)
    })
  })

  describe('accounts with delegated code', () => {
    it('take part as operators by their key, and as payees through their code', async () => {
      const operator = walletAt(3).connect(ethers.provider)
      await delegate(operator, { to: await ethers.deployContract('PlainDelegate'), by: payer })
      expect(await ethers.provider.getCode(operator)).to.match(/^0xef0100/)

      const intent = {
        operator: operator.address,
        orderReference: referenceOf('delegated', 1),
        payee: operator.address,
        token: ZeroAddress,
        amount: 7n,
        deadline: 4_102_444_800n,
      }
      const signature = await signIntent(operator, await domainOf(settlement), intent)
      await mined(settlement.settleWithIntent(intent, signature, { value: 7n }))
      expect(await ethers.provider.getBalance(operator)).to.equal(7n)
    })
  })

  describe('build', () => {
    it('fits in 6,500 bytes', async () => {
      const { deployedBytecode } = await artifacts.readArtifact('Settlement')
      expect((deployedBytecode.length - 2) / 2).to.be.at.most(6500)
    })

    it('keeps no variable in memory, where a batch of tokens has its calls', async () => {
      const { deployedBytecode } = await artifacts.readArtifact('Settlement')
      // The first free memory is at 0x80, and not above what the compiler has reserved for itself.
      expect(deployedBytecode).to.match(/^0x60808060405260/)
    })

    it('has one address on every chain', async () => {
      const { bytecode, abi } = await artifacts.readArtifact('Settlement')
      expect(abi.filter((entry) => entry.type === 'constructor' && entry.inputs.length > 0)).to.be
        .empty
      const salt = `0x${'00'.repeat(32)}`
      const expected = getCreate2Address(FACTORY, salt, keccak256(bytecode))
      for (const chainId of [1, 8453]) {
        const connection = await network.create({ override: { chainId } })
        const [signer] = await connection.ethers.getSigners()
        await connection.ethers.provider.send('hardhat_setCode', [FACTORY, FACTORY_CODE])
        await (
          await signer?.sendTransaction({ to: FACTORY, data: salt + bytecode.slice(2) })
        )?.wait()
        const there = Settlement__factory.connect(expected, connection.ethers.provider)
        expect((await there.eip712Domain()).chainId).to.equal(BigInt(chainId))
      }
    })

    it('takes coin only where a payment needs it, and cannot be owned or changed', async () => {
      const functions = settlement.interface.fragments.filter((entry) => entry.type === 'function')
      const names = functions.map((entry) => entry.format('sighash').split('(')[0])
      const payable = settlement.interface.fragments
        .filter((entry) => 'payable' in entry && entry.payable === true)
        .map((entry) => entry.format('sighash').split('(')[0])
      // Of these, the last is for the contract itself, and refuses everybody else.
      expect(payable).to.have.members([
        'settle',
        'settleBatch',
        'settleBatchPartial',
        'settleWithIntent',
        'payOneItemOfBatch',
      ])
      expect(names.filter((name) => /owner|pause|upgrade|multicall|execute/i.test(name ?? ''))).to
        .be.empty
      expect(new Set(names).size).to.equal(names.length)
    })

    it('answers none of the calls that it makes, so that it cannot be made to call itself', () => {
      const outgoing = [
        'balanceOf(address)',
        'transfer(address,uint256)',
        'transferFrom(address,address,uint256)',
        'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
        'DOMAIN_SEPARATOR()',
        `${RECEIVE}uint8,bytes32,bytes32)`,
        `${RECEIVE}bytes)`,
        'isValidSignature(bytes32,bytes)',
      ]
      const answered: string[] = []
      settlement.interface.forEachFunction((entry) => answered.push(entry.selector))
      for (const call of outgoing) expect(answered, call).not.to.include(id(call).slice(0, 10))
    })

    it('keeps the dollar below the size that the chain allows', async () => {
      const { deployedBytecode } = await artifacts.readArtifact('ReferenceDollar')
      expect((deployedBytecode.length - 2) / 2).to.be.at.most(24_576)
    })
  })

  function settledEvents(receipt: ContractTransactionReceipt) {
    return receipt.logs.flatMap((log) => {
      const parsed = log.address === receipt.to ? settlement.interface.parseLog(log) : null
      return parsed?.name === 'Settled' ? [parsed.args.toObject()] : []
    })
  }

  async function domainOf(contract: Settlement | ReferenceDollar) {
    const { chainId } = await ethers.provider.getNetwork()
    return { chainId, verifyingContract: await contract.getAddress() }
  }
})

const RECEIVE = 'receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,'

/** The deterministic deployer that is on every chain, and its code. */
const FACTORY = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const FACTORY_CODE =
  `0x7f${'ff'.repeat(31)}e0` +
  '3601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3'
