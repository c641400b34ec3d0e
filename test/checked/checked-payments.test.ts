import { expect } from 'chai'

import { plainProvider } from '../../src/chain/rpc/provider.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { createPayments, type Payments } from '../../src/checked/checked-payments.ts'
import type { NotSettledError } from '../../src/checked/errors.ts'
import type { MintOrder } from '../../src/client/payments-types.ts'
import { startRunningApp, type RunningApp } from '../fixtures/api/running-app.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('payments with proof', () => {
  let app: RunningApp
  let payments: Payments
  /** An account of the test chain, which signs for it. */
  let holder: string

  before(async () => {
    app = await startRunningApp()
    const { rpcUrl } = app.facts
    payments = paymentsOf(app)
    const accounts = (await callRpc({ url: rpcUrl, method: 'eth_accounts' })) as string[]
    holder = accounts[7] ?? ''
  })
  after(() => app.stop())

  const quick = { pollMs: 50, timeoutMs: 30_000 }
  const order = (): MintOrder => ({
    amount: '5.000001',
    destination: { type: 'blockchain', chain: 'ETH', address: holder },
  })

  it('proves a mint, and rejects one of another amount or to another address', async () => {
    const mint = await payments.mints.create(order())
    const { verdict } = await mint.settled(quick)
    expect(verdict.evidence?.payment).to.include({ kind: 'mint', amount: 5_000_001n })

    const kindsOf = async (other: MintOrder): Promise<unknown> => {
      const work = (): Promise<unknown> => payments.mints.settled(mint.id, other, quick)
      const error = (await expectFailure(work, 'chain_disagrees')) as NotSettledError
      return error.verdict?.disagreements.map(({ kind }) => kind)
    }
    expect(await kindsOf({ ...order(), amount: '5' })).to.deep.equal(['wrong_amount'])
    const destination = { ...order().destination, address: `0x${'1'.repeat(40)}` }
    expect(await kindsOf({ ...order(), destination })).to.include('wrong_recipient')
  })

  it('rejects the hash of another mint, of the same amount and to the same address', async () => {
    const { id, settled } = await payments.mints.create(order())
    const { hash } = await settled(quick)
    const lying = paymentsOf(app, async (input, init) => {
      const answer = await fetch(input, init)
      const body = (await answer.json()) as { data?: { id?: string } }
      if (body.data?.id !== id) Object.assign(body.data ?? {}, { transactionHash: hash })
      return Response.json(body, { status: answer.status })
    })
    const second = await lying.mints.create(order())
    const error = (await expectFailure(
      () => second.settled(quick),
      'chain_disagrees',
    )) as NotSettledError
    const kinds = error.verdict?.disagreements.map(({ kind }) => kind)
    expect(kinds).to.deep.equal(['wrong_reference'])
  })

  it('proves a redeem by the burn of its holder', async () => {
    await (await payments.mints.create(order())).settled(quick)
    const redeem = await payments.redeems.create({
      amount: '2.50',
      source: { type: 'blockchain', chain: 'ETH', address: holder },
      destination: { type: 'wire', name: 'Ada', addressLine1: '12 St James Square' },
    })
    const { token: to, calldata: data } = redeem.redemption ?? {}
    const burn = { from: holder, to, data }
    const url = app.facts.rpcUrl
    const hash = await callRpc({ url, method: 'eth_sendTransaction', params: [burn] })
    const settled = await redeem.settled(quick)
    expect(settled.hash).to.equal(hash)
    expect(settled.verdict.evidence?.payment).to.include({ kind: 'burn', amount: 2_500_000n })
  })
})

function paymentsOf(app: RunningApp, through: typeof fetch = fetch): Payments {
  const { rpcUrl, stablecoin = '' } = app.facts
  return createPayments({
    baseUrl: app.url,
    apiKey: app.groupA.apiKey,
    providers: [plainProvider(rpcUrl)],
    confirmations: 2,
    stablecoin,
    runtime: { fetch: through },
  })
}
