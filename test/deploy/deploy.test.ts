import { readFile, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { expect } from 'chai'
import { getAddress, keccak256, pad, parseEther, parseGwei, zeroAddress, type Hex } from 'viem'

import { systemClock } from '../../src/base/clock.ts'
import { referenceDollarAbi } from '../../src/bindings/abis.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import { DETERMINISTIC_DEPLOYER, DETERMINISTIC_DEPLOYER_SIGNER } from '../../src/deploy/create2.ts'
import { NETWORKS } from '../../src/deploy/networks.ts'
import { startChain, type TestChain } from '../fixtures/chain/anvil.ts'
import {
  account,
  deployerOn,
  forgetfulRecords,
  recordsFolder,
} from '../fixtures/chain/deployment.ts'
import { expectFailure } from '../fixtures/errors.ts'

type Records = Awaited<ReturnType<typeof recordsFolder>>

describe('a deployment', () => {
  let chain: TestChain
  let kept: Records

  beforeEach(async () => {
    chain = await startChain()
    kept = await recordsFolder()
  })
  afterEach(async () => {
    await chain.stop()
    await kept.remove()
  })

  it('shows in a plan what is missing and what it costs, and changes nothing', async () => {
    const plan = await deployerOn(chain, { records: kept.records }).plan()

    expect(plan.chainId).to.equal(31_337)
    expect(plan.account).to.equal(account(0).address)
    expect(plan.balance).to.equal(parseEther('10000'))
    expect(plan.steps.map(({ kind, state }) => `${kind} ${state}`)).to.deep.equal([
      'deployer present',
      'contract absent',
      'contract absent',
    ])
    expect(plan.steps[1]?.address).to.equal(settlementAddress)
    expect(plan.maxCost > plan.cost && plan.cost > 0n).to.equal(true)
    expect(await chain.client.getBlockNumber()).to.equal(0n)
    expect(await readdir(kept.folder)).to.deep.equal([])
  })

  it('puts both contracts where the plan said, for no more than it said', async () => {
    const deployer = deployerOn(chain, { records: kept.records })
    const { cost, maxCost, balance } = await deployer.plan()
    const outcome = await deployer.execute()

    expect(outcome.addresses).to.deep.equal(deployer.addresses)
    expect(outcome.done.map(({ action, name }) => `${action} ${name}`)).to.deep.equal([
      'create Settlement',
      'create ReferenceDollar',
    ])
    for (const address of Object.values(outcome.addresses)) {
      expect((await chain.client.getCode({ address }))?.length).to.be.greaterThan(1000)
    }
    const admin = await readDollar(chain, outcome.addresses.ReferenceDollar)
    expect(admin).to.equal(account(0).address)
    const spent = balance - (await chain.client.getBalance({ address: account(0).address }))
    expect(spent <= maxCost).to.equal(true)
    // The estimate is for the fees of that moment, which the first block lowers a little.
    expect(Number(spent) / Number(cost)).to.be.within(0.8, 1)
  })

  it('records what it did, as the chain tells it', async () => {
    const now = Date.UTC(2026, 0, 2)
    const deployer = deployerOn(chain, { records: kept.records, waiting: fixedTime(now) })
    const { done } = await deployer.execute()

    const text = await readFile(path.join(kept.folder, '31337.json'), 'utf8')
    expect(JSON.parse(text)).to.deep.equal({ version: 1, chainId: 31_337, entries: done })
    const [first] = done
    const receipt = await chain.client.getTransactionReceipt({
      hash: first?.transactionHash ?? '0x',
    })
    const code = await chain.client.getCode({ address: settlementAddress })
    expect(first).to.deep.equal({
      action: 'create',
      name: 'Settlement',
      address: settlementAddress,
      constructorArguments: '0x',
      codeHash: keccak256(code ?? '0x'),
      transactionHash: receipt.transactionHash,
      blockNumber: '1',
      blockHash: receipt.blockHash,
      gasUsed: receipt.gasUsed.toString(),
      cost: (receipt.gasUsed * receipt.effectiveGasPrice).toString(),
      account: account(0).address,
      at: '2026-01-02T00:00:00.000Z',
    })
    expect(done[1]?.constructorArguments).to.equal(pad(account(0).address).toLowerCase())
  })

  it('changes nothing when all is there already', async () => {
    await deployerOn(chain, { records: kept.records, minter: minter() }).execute()
    const before = await stateOf(chain, kept)

    const again = deployerOn(chain, { records: kept.records, minter: minter() })
    expect((await again.plan()).cost).to.equal(0n)
    expect((await again.execute()).done).to.deep.equal([])
    expect(await stateOf(chain, kept)).to.deep.equal(before)
  })

  it('does only what is missing', async () => {
    await deployerOn(chain, { records: kept.records }).execute()
    const other = deployerOn(chain, { records: kept.records, admin: account(3).address })
    const { done } = await other.execute()
    expect(done.map(({ name, address }) => ({ name, address }))).to.deep.equal([
      { name: 'ReferenceDollar', address: other.addresses.ReferenceDollar },
    ])
    expect((await kept.records.read(31_337)).entries).to.have.length(3)
  })

  it('lets a minter mint, and does not raise the allowance that mints have used', async () => {
    const options = { records: kept.records, minter: minter() }
    const { done, addresses } = await deployerOn(chain, options).execute()
    expect(done[2]).to.include({ action: 'grant', minter: minter().address, allowance: '5000000' })

    const token = { address: addresses.ReferenceDollar, abi: referenceDollarAbi } as const
    await chain.client.writeContract({
      ...token,
      account: account(1),
      chain: null,
      functionName: 'mintWithMemo',
      args: [account(2).address, 2_000_000n, pad('0x01')],
    })
    expect((await deployerOn(chain, options).execute()).done).to.deep.equal([])
    const left = await chain.client.readContract({
      ...token,
      functionName: 'minterAllowance',
      args: [minter().address],
    })
    expect(left).to.equal(3_000_000n)
  })

  it('sends through the accounts that a node keeps', async () => {
    const { address } = account(5)
    const options = { records: kept.records, account: { address, type: 'json-rpc' } as const }
    const { done } = await deployerOn(chain, options).execute()
    expect(done.map((entry) => entry.account)).to.deep.equal([address, address])
    expect(done[0]?.transactionHash).to.match(/^0x[0-9a-f]{64}$/)
  })

  describe('refuses, and sends nothing,', () => {
    afterEach('nothing was sent', async () => {
      expect(await chain.client.getTransactionCount({ address: account(0).address })).to.equal(0)
      const files = await readdir(kept.folder)
      expect(files.filter((file) => file !== 'spoilt')).to.deep.equal([])
    })

    it('when other code is at the address', async () => {
      await chain.client.setCode({ address: settlementAddress, bytecode: '0x60016000' })
      const deployer = deployerOn(chain, { records: kept.records })
      expect((await deployer.plan()).steps[1]?.state).to.equal('differs')
      const error = await expectFailure(() => deployer.execute(), 'deploy_code_differs')
      expect(error.details).to.deep.equal({ name: 'Settlement', address: settlementAddress })
    })

    it('when the code there differs in a single byte', async () => {
      const { code = '0x' } = await deployedOn(31_337, { payer: 0, admin: account(0).address })
      await chain.client.setCode({ address: settlementAddress, bytecode: flipByte(code, 100) })
      const deployer = deployerOn(chain, { records: kept.records })
      await expectFailure(() => deployer.execute(), 'deploy_code_differs')
    })

    it('when the deterministic deployer is not what it should be', async () => {
      await chain.client.setCode({ address: DETERMINISTIC_DEPLOYER, bytecode: '0x6001' })
      const deployer = deployerOn(chain, { records: kept.records })
      await expectFailure(() => deployer.execute(), 'deploy_deployer_differs')
    })

    it('on another chain than the one that was named', async () => {
      const deployer = deployerOn(chain, { records: kept.records, network: NETWORKS.sepolia })
      const error = await expectFailure(() => deployer.plan(), 'deploy_wrong_chain')
      expect(error.details).to.deep.equal({ chainId: 31_337, expected: 11_155_111 })
    })

    it('without enough money', async () => {
      const { address } = account(0)
      const { maxCost } = await deployerOn(chain, { records: kept.records }).plan()
      await chain.client.setBalance({ address, value: maxCost - 1n })
      const deployer = deployerOn(chain, { records: kept.records })
      const error = await expectFailure(() => deployer.execute(), 'deploy_no_funds')
      expect(error.details).to.deep.equal({
        account: address,
        balance: (maxCost - 1n).toString(),
        needed: maxCost.toString(),
      })
    })

    it('while a transaction of the account is pending', async () => {
      await chain.client.setAutomine(false)
      await chain.client.sendTransaction({
        account: account(0),
        chain: null,
        to: account(1).address,
        gas: 21_000n,
      })
      const deployer = deployerOn(chain, { records: kept.records })
      const error = await expectFailure(() => deployer.execute(), 'deploy_account_busy')
      expect(error.retryable).to.equal(true)
    })

    it('to name a minter for somebody else’s token', async () => {
      const options = { records: kept.records, minter: minter(), admin: account(3).address }
      await expectFailure(() => deployerOn(chain, options).execute(), 'deploy_minter_refused')
    })

    it('a constructor that would fail', async () => {
      const options = { records: kept.records, admin: zeroAddress }
      await expectFailure(() => deployerOn(chain, options).execute(), 'deploy_would_revert')
    })

    it('when its record cannot be read', async () => {
      const file = path.join(kept.folder, '31337.json')
      for (const spoilt of ['{', '[]', '{"version":1,"chainId":1,"entries":[]}']) {
        await writeFile(file, spoilt)
        const deployer = deployerOn(chain, { records: kept.records })
        await expectFailure(() => deployer.execute(), 'deployment_record_invalid')
        expect(await readFile(file, 'utf8')).to.equal(spoilt)
      }
      await kept.remove()
      kept = await recordsFolder()
    })
  })
})

describe('the address of a contract', () => {
  it('is the same on chains of different ids, whoever deploys', async () => {
    const admin = account(7).address
    const found = await Promise.all(
      [
        { id: 1_111, payer: 0 },
        { id: 2_222, payer: 1 },
      ].map(({ id, payer }) => deployedOn(id, { payer, admin })),
    )
    const [one, two] = found
    expect(one?.addresses).to.deep.equal(two?.addresses)
    expect(one?.addresses.Settlement).to.equal(settlementAddress)
    // Each chain's id is part of the code there, so the addresses agree and the bytes do not.
    expect(one?.code).to.not.equal(two?.code)
  })

  it('depends on the admin for the token, and on nothing for the settlement', async () => {
    const chain = await startChain()
    const mine = deployerOn(chain, { records: forgetfulRecords, admin: account(0).address })
    const yours = deployerOn(chain, { records: forgetfulRecords, admin: account(1).address })
    await chain.stop()
    expect(mine.addresses.Settlement).to.equal(yours.addresses.Settlement)
    expect(mine.addresses.ReferenceDollar).to.not.equal(yours.addresses.ReferenceDollar)
  })
})

describe('a chain without the deterministic deployer', () => {
  let kept: Records
  beforeEach(async () => {
    kept = await recordsFolder()
  })
  afterEach(() => kept.remove())

  it('gets it by the presigned transaction, whose signer is paid what is missing', async () => {
    const chain = await startChain('--disable-default-create2-deployer', '--chain-id', '4321')
    try {
      const half = parseEther('0.004')
      await chain.client.setBalance({ address: DETERMINISTIC_DEPLOYER_SIGNER, value: half })
      const deployer = deployerOn(chain, { records: kept.records })
      const plan = await deployer.plan()
      expect(plan.steps[0]).to.include({ state: 'absent', value: parseEther('0.006') })
      const { done, addresses } = await deployer.execute()
      expect(done.map(({ name }) => name)).to.deep.equal([
        'DeterministicDeployer',
        'Settlement',
        'ReferenceDollar',
      ])
      expect(done[0]?.address).to.equal(DETERMINISTIC_DEPLOYER)
      expect(addresses.Settlement).to.equal(settlementAddress)
      expect((await deployer.execute()).done).to.deep.equal([])
    } finally {
      await chain.stop()
    }
  })

  it('gets it for nothing when an earlier run has paid the signer', async () => {
    const chain = await startChain('--disable-default-create2-deployer')
    try {
      const signer = DETERMINISTIC_DEPLOYER_SIGNER
      await chain.client.setBalance({ address: signer, value: parseEther('0.01') })
      const { done } = await deployerOn(chain, { records: kept.records }).execute()
      expect(done[0]).to.include({ name: 'DeterministicDeployer', blockNumber: '1' })
      // Both contracts, and no payment.
      expect(await chain.client.getTransactionCount({ address: account(0).address })).to.equal(2)
    } finally {
      await chain.stop()
    }
  })

  it('is refused while gas costs more than that transaction offers', async () => {
    const fee = parseGwei('60').toString()
    const chain = await startChain('--disable-default-create2-deployer', '--base-fee', fee)
    try {
      const deployer = deployerOn(chain, { records: kept.records })
      const error = await expectFailure(() => deployer.execute(), 'deploy_deployer_refused')
      expect(error.retryable).to.equal(true)
      const signer = { address: DETERMINISTIC_DEPLOYER_SIGNER }
      expect(await chain.client.getBalance(signer)).to.equal(0n)
    } finally {
      await chain.stop()
    }
  })
})

describe('the cost on a rollup of the OP Stack', () => {
  it('includes what the chain charges for the data', async () => {
    const chain = await startChain('--chain-id', '11155420')
    try {
      const oracle = '0x420000000000000000000000000000000000000F'
      // Answers every question with 77: PUSH1 77, MSTORE at 0, RETURN 32 bytes.
      await chain.client.setCode({ address: oracle, bytecode: '0x604d60005260206000f3' })
      const network = NETWORKS.optimismSepolia
      const plan = await deployerOn(chain, { records: forgetfulRecords, network }).plan()
      expect(plan.steps.map(({ dataFee }) => dataFee)).to.deep.equal([0n, 77n, 77n])
      const gas = plan.steps.reduce((sum, step) => sum + step.gas, 0n)
      const { baseFeePerGas, maxPriorityFeePerGas } = plan.fees
      expect(plan.cost).to.equal(gas * (baseFeePerGas + maxPriorityFeePerGas) + 154n)
    } finally {
      await chain.stop()
    }
  })
})

function minter() {
  return { address: account(1).address, allowance: 5_000_000n }
}

function fixedTime(now: number) {
  return { clock: { ...systemClock, now: () => new Date(now) } }
}

function flipByte(code: Hex, at: number): Hex {
  const index = 2 + at * 2
  const flipped = code[index] === '0' ? '1' : '0'
  return `0x${code.slice(2, index)}${flipped}${code.slice(index + 1)}`
}

async function deployedOn(id: number, { payer, admin }: { payer: number; admin: Hex }) {
  const chain = await startChain('--chain-id', String(id))
  try {
    const deployer = deployerOn(chain, {
      records: forgetfulRecords,
      account: account(payer),
      admin,
    })
    const { addresses, chainId } = await deployer.execute()
    expect(chainId).to.equal(id)
    return { addresses, code: await chain.client.getCode({ address: settlementAddress }) }
  } finally {
    await chain.stop()
  }
}

async function readDollar(chain: TestChain, address: Hex): Promise<string> {
  const admin = await chain.client.readContract({
    address,
    abi: referenceDollarAbi,
    functionName: 'defaultAdmin',
  })
  return getAddress(admin)
}

async function stateOf(chain: TestChain, { folder }: Records) {
  return {
    block: await chain.client.getBlockNumber(),
    nonce: await chain.client.getTransactionCount({ address: account(0).address }),
    record: await readFile(path.join(folder, '31337.json'), 'utf8'),
  }
}
