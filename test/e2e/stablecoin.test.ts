import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { grantCall } from '../../src/deploy/minter.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { addressFrom, createWorld, placeDollar } from '../engines/sim/world.ts'
import { upHere, type AppHere } from '../fixtures/api/running-app.ts'
import { startChain, type TestChain } from '../fixtures/chain/anvil.ts'
import { account } from '../fixtures/chain/deployment.ts'
import { answering, tokenAnswers } from '../fixtures/chain/token-code.ts'
import { runHere } from '../fixtures/commands.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runToEnd } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'

describe('the program on a stablecoin that it did not deploy', () => {
  const folder = temporaryFolder()
  let chain: TestChain
  let app: AppHere | undefined
  let folders = 0

  before(async () => {
    chain = await startChain()
  })
  afterEach(async () => {
    await app?.stop()
    app = undefined
  })
  after(async () => {
    await chain.stop()
    folder.remove()
  })

  const place = async (decimals: bigint): Promise<Hex> => {
    const address = addressFrom(`a token of ${decimals} decimals`)
    await chain.client.setCode({ address, bytecode: answering(tokenAnswers(decimals, 'USDX')) })
    return address
  }
  const settings = (token: Hex) => {
    const QUITTANCE_DATA = join(folder.path, `data ${(folders += 1)}`)
    fillDataFolder(QUITTANCE_DATA)
    return { QUITTANCE_DATA, PORT: '0', ETH_RPC_URL: chain.url, STABLECOIN_ADDRESS: token }
  }
  const up = async (token: Hex): Promise<ReadyFacts> => {
    app = await upHere(settings(token))
    return app.facts
  }
  const client = ({ url, groupA }: ReadyFacts) => {
    const headers = {
      authorization: `Bearer ${groupA?.apiKey}`,
      'content-type': 'application/json',
    }
    const ask = async (path: string, body?: object) => {
      const method = body ? 'POST' : 'GET'
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
      const answer = await fetchInTurn(`${url}${path}`, init)
      return { status: answer.status, ...((await answer.json()) as Answer) }
    }
    const destination = { type: 'blockchain', chain: 'ETH', address: addressFrom('a holder') }
    return {
      ask,
      mint: (amount: string) => ask('/v1/businessAccount/transfers', { amount, destination }),
      redeem: (amount: string) =>
        ask('/v1/transfers', {
          amount,
          source: { type: 'blockchain', chain: 'ETH' },
          destination: { type: 'wire', name: 'Ada', addressLine1: '12 St James Square' },
        }),
    }
  }

  it('refuses to start, or to reconcile, where a dollar would have 18 decimals', async () => {
    const token = await place(18n)
    const { code, stderr } = await runToEnd(['up'], settings(token))
    expect(code).to.equal(2)
    expect(stderr.trim().split('\n')).to.have.length(1)
    expect(stderr.toLowerCase()).to.include(token)
    expect(stderr).to.include('decimals() is 18').and.include('6 decimals')
    const records = join(folder.path, 'records.csv')
    writeFileSync(records, 'transaction_id,eth_transaction_hash,amount,currency\n')
    const reconciled = await runHere(['reconcile', '--source', records], {
      QUITTANCE_DATA: join(folder.path, 'nothing'),
      ETH_RPC_URL: chain.url,
      STABLECOIN_ADDRESS: token,
    })
    expect(reconciled.code).to.equal(2)
    expect(reconciled.stderr).to.include('decimals() is 18')
  })

  it('promises no mint and no redeem on a token without memos', async () => {
    const facts = await up(await place(6n))
    expect(facts.token).to.deep.equal({ symbol: 'USDX', decimals: 6, profile: 'erc20' })
    const { ask, mint, redeem } = client(facts)
    const minted = await mint('10.00')
    expect(minted).to.include({ status: 400, code: 2005 })
    expect(minted.message).to.include('Nothing can be minted').and.include('mintWithMemo')
    const redeemed = await redeem('10.00')
    expect(redeemed).to.include({ status: 400, code: 2005 })
    expect(redeemed.message).to.include('Nothing can be redeemed').and.include('burnWithMemo')
    expect((await ask('/v1/businessAccount/transfers')).data).to.deep.equal([])
    expect((await ask('/v1/transfers')).data).to.deep.equal([])
  })

  it('mints as long as the token lets it, and says who can change that', async () => {
    const minter = addressFrom('another minter')
    const token = await placeDollar(createWorld(chain.url), { minter, allowance: 1n })
    const facts = await up(token)
    expect(facts.token).to.include({ symbol: 'RUSD', profile: 'memo' })
    const { ask, mint } = client(facts)
    const stranger = await mint('10.00')
    expect(stranger).to.include({ status: 503, code: 2005 })
    expect(stranger.message).to.include('is not a minter').and.include('configureMinter')
    expect((await ask('/v1/businessAccount/transfers')).data).to.deep.equal([])
    const platform = /address (0x[0-9a-fA-F]{40}) is not/.exec(stranger.message ?? '')?.[1] as Hex
    const admin = account(0)
    const grant = async (allowance: bigint) =>
      chain.client.sendTransaction({
        account: admin,
        chain: null,
        ...grantCall({ token, minter: platform, allowance }),
      })
    await grant(12_000_000n)
    const beyond = await mint('12.01')
    expect(beyond).to.include({ status: 400, code: 1076 })
    expect(beyond.message).to.include('12.00 more')
    expect((await mint('10.00')).status).to.equal(201)
    await grant(0n)
    const usedUp = await mint('10.00')
    expect(usedUp).to.include({ status: 503, code: 2005 })
    expect(usedUp.message).to.include('no allowance left')
    expect((await ask('/v1/businessAccount/transfers')).data).to.have.length(1)
  })
})

type Answer = { code?: number; message?: string; data?: unknown }
