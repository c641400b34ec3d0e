import { expect } from 'chai'
import { HttpRequestError, parseEther, recoverTransactionAddress } from 'viem'

import { settlementAddress } from '../../src/bindings/addresses.ts'
import {
  DETERMINISTIC_DEPLOYER,
  DETERMINISTIC_DEPLOYER_CODE,
  DETERMINISTIC_DEPLOYER_SIGNER,
  presignedDeployerTransaction,
} from '../../src/deploy/create2.ts'
import { startChain, type TestChain } from '../fixtures/chain/anvil.ts'
import {
  account,
  clientThrough,
  deployerOn,
  forgetfulRecords,
  recordsFolder,
  type Interceptor,
} from '../fixtures/chain/deployment.ts'
import { expectFailure } from '../fixtures/errors.ts'

const SEND = 'eth_sendRawTransaction'

describe('a deployment over an unreliable line', () => {
  let chain: TestChain
  let kept: Awaited<ReturnType<typeof recordsFolder>>

  beforeEach(async () => {
    chain = await startChain()
    kept = await recordsFolder()
  })
  afterEach(async () => {
    await chain.stop()
    await kept.remove()
  })

  const deployThrough = (intercept: Interceptor, timeoutMs = 2_000) =>
    deployerOn(chain, {
      records: kept.records,
      client: clientThrough(chain, intercept),
      waiting: { timeoutMs },
    })

  it('succeeds when the answer to each sent transaction is lost', async () => {
    const { done } = await deployThrough(async ({ method }, forward) => {
      const answer = await forward()
      if (method === SEND) throw lineFailure()
      return answer
    }).execute()
    expect(done.map(({ transactionHash }) => transactionHash?.length)).to.deep.equal([66, 66])
    await expectDeployed(chain, { transactions: 2 })
  })

  it('sends the same transaction again when it did not arrive', async () => {
    const sent: unknown[] = []
    await deployThrough(async ({ method, params }, forward) => {
      if (method !== SEND) return forward()
      sent.push(...params)
      if (sent.length === 1) throw lineFailure()
      return forward()
    }).execute()
    expect(sent[1]).to.equal(sent[0])
    expect(sent).to.have.length(3)
    await expectDeployed(chain, { transactions: 2 })
  })

  it('survives a node that fails every other question while it waits', async () => {
    let questions = 0
    let hasSent = false
    await deployThrough(async ({ method }, forward) => {
      hasSent ||= method === SEND
      if (hasSent && method === 'eth_getTransactionReceipt' && questions++ % 2 === 0) {
        throw lineFailure()
      }
      return forward()
    }).execute()
    expect(questions).to.be.greaterThan(2)
    await expectDeployed(chain, { transactions: 2 })
  })

  it('claims no receipt when somebody else created the contract first', async () => {
    let isFirst = true
    const { done } = await deployThrough(async ({ method }, forward) => {
      if (method === SEND && isFirst) {
        isFirst = false
        await deployerOn(chain, {
          records: forgetfulRecords,
          account: account(1),
          admin: account(0).address,
        }).execute()
      }
      return forward()
    }).execute()
    expect(done.map(({ name }) => name)).to.deep.equal(['Settlement', 'ReferenceDollar'])
    for (const entry of done) expect(entry).to.not.have.property('transactionHash')
  })

  it('gives up when another transaction took the nonce', async () => {
    const deployer = deployThrough(async ({ method }, forward) => {
      if (method !== SEND) return forward()
      await payFrom(chain, 0)
      return `0x${'00'.repeat(32)}`
    })
    const error = await expectFailure(() => deployer.execute(), 'deploy_replaced')
    expect(error.retryable).to.equal(true)
    expect((await kept.records.read(31_337)).entries).to.deep.equal([])
  })

  it('gives up in time when nothing is mined, and finishes when it is run again', async () => {
    await chain.client.setAutomine(false)
    const hung = deployThrough((_, forward) => forward(), 100)
    const error = await expectFailure(() => hung.execute(), 'deploy_timed_out')
    expect(error.retryable).to.equal(true)
    await expectFailure(() => hung.execute(), 'deploy_account_busy')

    await chain.client.mine({ blocks: 1 })
    await chain.client.setAutomine(true)
    const { done } = await deployerOn(chain, { records: kept.records }).execute()
    expect(done.map(({ name }) => name)).to.deep.equal(['ReferenceDollar'])
    await expectDeployed(chain, { transactions: 2 })
  })

  it('stops waiting as soon as it is interrupted', async () => {
    await chain.client.setAutomine(false)
    const controller = new AbortController()
    const deployer = deployerOn(chain, {
      records: kept.records,
      onProgress: () => controller.abort(),
      waiting: { signal: controller.signal, pollIntervalMs: 60_000, timeoutMs: 60_000 },
    })
    const error = await expectFailure(() => deployer.execute(), 'deploy_interrupted')
    expect(error.retryable).to.equal(true)
  })

  it('stops at once when the node refuses a transaction', async () => {
    const deployer = deployThrough(async ({ method }, forward) => {
      if (method === SEND) throw nodeError('exceeds block gas limit')
      return forward()
    })
    await expectFailure(() => deployer.execute(), 'deploy_rejected')
  })

  it('says that money is missing in whatever words the node says it', async () => {
    const deployer = deployThrough(async ({ method }, forward) => {
      if (method === SEND) throw nodeError('Upfront cost exceeds account balance')
      return forward()
    })
    await expectFailure(() => deployer.execute(), 'deploy_no_funds')
  })

  it('reports a transaction that fails on the chain', async () => {
    const deployer = deployThrough(async ({ method }, forward) => {
      const answer = await forward()
      // Less than the creation needs, which no node can know beforehand.
      return method === 'eth_estimateGas' ? '0x80000' : answer
    })
    const error = await expectFailure(() => deployer.execute(), 'deploy_reverted')
    const block = await chain.client.getBlock()
    expect(error.details['transactionHash']).to.equal(block.transactions[0])
  })

  it('refuses code that appears at the address and is not ours', async () => {
    const deployer = deployThrough(async ({ method }, forward) => {
      const answer = await forward()
      if (method === SEND) {
        await chain.client.setCode({ address: settlementAddress, bytecode: '0x6001' })
      }
      return answer
    })
    await expectFailure(() => deployer.execute(), 'deploy_code_differs')
    expect((await kept.records.read(31_337)).entries).to.deep.equal([])
  })

  it('names no address of a node that does not answer, since it may hold a key', async () => {
    const deployer = deployThrough(() => Promise.reject(lineFailure()))
    const error = await expectFailure(() => deployer.plan(), 'deploy_rpc_failed')
    expect(error.retryable).to.equal(true)
    expect(error.message).to.not.contain('secret')
  })
})

describe('the deterministic deployer', () => {
  it('is created by the one transaction that its signer ever signed', async () => {
    const serializedTransaction = presignedDeployerTransaction()
    const signer = await recoverTransactionAddress({ serializedTransaction })
    expect(signer).to.equal(DETERMINISTIC_DEPLOYER_SIGNER)
  })

  it('has the code that a chain puts there by itself', async () => {
    const chain = await startChain()
    const code = await chain.client.getCode({ address: DETERMINISTIC_DEPLOYER })
    await chain.stop()
    expect(code).to.equal(DETERMINISTIC_DEPLOYER_CODE)
  })

  it('is not paid for when the node would refuse its transaction', async () => {
    const chain = await startChain('--disable-default-create2-deployer')
    try {
      const client = clientThrough(chain, async ({ method, params }, forward) => {
        const isPresigned = method === SEND && params[0] === presignedDeployerTransaction()
        if (isPresigned) throw nodeError('only replay-protected (EIP-155) transactions allowed')
        return forward()
      })
      const deployer = deployerOn(chain, { records: forgetfulRecords, client })
      await expectFailure(() => deployer.execute(), 'deploy_deployer_refused')
      const signer = { address: DETERMINISTIC_DEPLOYER_SIGNER }
      expect(await chain.client.getBalance(signer)).to.equal(0n)
      expect(await chain.client.getTransactionCount({ address: account(0).address })).to.equal(0)
    } finally {
      await chain.stop()
    }
  })
})

function lineFailure(): HttpRequestError {
  return new HttpRequestError({ url: 'https://node.example/secret', details: 'socket hang up' })
}

function nodeError(message: string): Error {
  return Object.assign(new Error(message), { code: -32_000 })
}

async function payFrom(chain: TestChain, index: number): Promise<void> {
  await chain.client.sendTransaction({
    account: account(index),
    chain: null,
    to: account(9).address,
    value: parseEther('1'),
  })
}

async function expectDeployed(
  chain: TestChain,
  { transactions }: { transactions: number },
): Promise<void> {
  const { address } = account(0)
  expect(await chain.client.getTransactionCount({ address })).to.equal(transactions)
  expect((await chain.client.getCode({ address: settlementAddress }))?.length).to.be.above(1000)
}
