import { expect } from 'chai'

import type { Hex } from '../../src/chain/hex.ts'
import { plainProvider } from '../../src/chain/rpc/provider.ts'
import { createPayments } from '../../src/checked/checked-payments.ts'
import { createPlatform, type Intent, type Platform } from '../../src/checked/checked-platform.ts'
import type { NotSettledError } from '../../src/checked/errors.ts'
import { startRunningApp, type RunningApp } from '../fixtures/api/running-app.ts'
import { calls, reference } from '../fixtures/books/verify.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const OTHER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

describe('the platform with proof', () => {
  let app: RunningApp
  let platform: Platform

  before(async () => {
    app = await startRunningApp()
    platform = connect({ stablecoin: app.facts.stablecoin })
  })
  after(() => app.stop())

  const connect = (
    contracts: { settlement?: string; stablecoin?: string | undefined } = {},
  ): Platform =>
    createPlatform({
      ...contracts,
      baseUrl: app.url,
      apiKey: app.groupB.apiKey,
      providers: [plainProvider(app.facts.rpcUrl)],
      confirmations: 2,
    })
  const quick = { pollMs: 50, timeoutMs: 20_000 }
  const asked = { to_address: PAYEE, amount: '0.100000000000000001' }

  for (const use_contract of [false, true]) {
    it(`proves a payment ${use_contract ? 'through the contract' : 'without it'}`, async () => {
      const request = { ...asked, description: 'invoice 7', use_contract }
      const payment = await platform.blockchain.send(request)
      const { hash, verdict } = await payment.settled(quick)
      expect(hash).to.equal(payment.eth_transaction_hash)
      expect(verdict.status).to.equal('holds')
      expect(verdict.evidence?.payment).to.include({
        kind: use_contract ? 'settlement' : 'native',
        payee: PAYEE.toLowerCase(),
        amount: 100_000_000_000_000_001n,
      })
    })
  }

  it('proves each payment of a batch by its own event', async () => {
    const items = [PAYEE, OTHER].map((to_address, place) => {
      return {
        to_address,
        amount: `0.0${place + 1}`,
        external_id: `proven ${place}`.replace(' ', '-'),
      }
    })
    const batch = await platform.blockchain.batch({ on_failure: 'each', items })
    expect(batch).to.include({ status: 'pending', count: 2, amount: '0.03' })
    const proofs = await Promise.all(batch.payments.map(async (one) => one.settled(quick)))
    const [first, second] = proofs.map(({ verdict }) => verdict.evidence?.payment)
    expect(first).to.include({ payee: PAYEE.toLowerCase(), amount: 10n ** 16n })
    expect(second).to.include({ payee: OTHER.toLowerCase(), amount: 2n * 10n ** 16n })
    expect(first?.reference).not.to.equal(second?.reference)
    expect(proofs[0]!.hash).to.equal(proofs[1]!.hash)
    const shown = []
    for await (const item of platform.blockchain.batches.items(batch.batch_id)) shown.push(item)
    expect(shown.map(({ to_address }) => to_address)).to.deep.equal([PAYEE, OTHER])
    const id = batch.transactions[1]!
    await until(async () => (await platform.transactions.get(id)).status === 'completed')
    const { path } = await platform.transactions.receipt(id)
    const quittance = await (await fetchInTurn(`${app.url}${path}/quittance.json`)).text()
    expect(quittance).to.contain(OTHER.toLowerCase()).and.contain('"20000000000000000"')
  })

  describe('in dollars', () => {
    const dollars = { to_address: PAYEE, amount: '2.50', currency: 'USD' } as const

    before(async () => {
      const { apiKey } = app.groupA
      const providers = [plainProvider(app.facts.rpcUrl)]
      const stablecoin = app.facts.stablecoin!
      const options = { baseUrl: app.url, apiKey, stablecoin, providers, confirmations: 2 }
      const { address } = await platform.blockchain.balance()
      const minted = await createPayments(options).mints.create({
        amount: '10.00',
        currency: 'USD',
        destination: { type: 'blockchain', chain: 'ETH', address },
      })
      await minted.settled(quick)
    })

    for (const use_contract of [false, true]) {
      it(`proves a payment ${use_contract ? 'through the contract' : 'without it'}`, async () => {
        const request = { ...dollars, description: 'invoice 8', use_contract }
        const payment = await platform.blockchain.send(request)
        expect(payment).to.deep.include({ currency: 'USD', amount: '2.5' })
        const { verdict } = await payment.settled(quick)
        expect(verdict.status).to.equal('holds')
        expect(verdict.evidence?.payment).to.include({
          kind: use_contract ? 'settlement' : 'transfer',
          payee: PAYEE.toLowerCase(),
          token: app.facts.stablecoin!.toLowerCase(),
          amount: 2_500_000n,
        })
        const { blockchain_transaction: shown } = await platform.transactions.get(
          payment.transaction_id,
        )
        expect(shown?.amount).to.equal('2.5')
      })
    }

    it('shows what is left beside ETH', async () => {
      const { tokens } = await platform.blockchain.balance()
      expect(tokens).to.deep.equal([
        {
          currency: 'USD',
          symbol: 'RUSD',
          token: app.facts.stablecoin,
          decimals: 6,
          balance: '5',
          balance_units: '5000000',
        },
      ])
    })

    it('believes the token that the caller names, and no other', async () => {
      const sent = await platform.blockchain.send({ ...dollars, description: 'invoice 9' })
      const { transaction_id } = sent
      const intent = { transaction_id, ...dollars }
      const settle = (stablecoin?: string) =>
        connect({ stablecoin }).blockchain.settled(intent, quick)
      await expectFailure(() => settle(OTHER), 'chain_disagrees')
      await expectFailure(async () => settle(), 'invalid_call')
    })
  })

  describe('rejects', () => {
    let paid: Intent

    before(async () => {
      const sent = await platform.blockchain.send({ ...asked, description: 'invoice 8' })
      await sent.settled(quick)
      paid = { transaction_id: sent.transaction_id, ...asked }
    })

    const kindsOf = async (intent: Partial<Intent>): Promise<unknown> => {
      const work = (): Promise<unknown> =>
        platform.blockchain.settled({ ...paid, ...intent }, quick)
      const error = (await expectFailure(work, 'chain_disagrees')) as NotSettledError
      return error.verdict?.disagreements.map(({ kind }) => kind)
    }

    it('another amount, by a single wei', async () => {
      expect(await kindsOf({ amount: '0.1' })).to.deep.equal(['wrong_amount'])
    })

    it('another recipient or payer', async () => {
      expect(await kindsOf({ to_address: OTHER })).to.include('wrong_recipient')
      expect(await kindsOf({ from_address: OTHER })).to.include('wrong_payer')
    })

    it('one payment for two records', async () => {
      const sent = await platform.blockchain.send({ ...asked, description: 'invoice 9' })
      await sent.settled(quick)
      const { eth_transaction_hash } = sent
      // The server tells nothing of this id, so the hash that it named is all there is.
      const other = { ...paid, transaction_id: 'TX00000000000000000001', eth_transaction_hash }
      await expectFailure(() => platform.blockchain.settled(other, quick), 'hash_reused')
      expect(await connect().blockchain.settled(other, quick)).to.have.property('record', undefined)
    })

    it('a payment through the contract that names no reference', async () => {
      const through = { ...paid, use_contract: true }
      await expectFailure(() => platform.blockchain.settled(through, quick), 'not_provable')
    })
  })

  it('believes the settlement contract that the caller names, and no other', async () => {
    const at = `0x${'5e'.repeat(20)}` as const
    const { request } = plainProvider(app.facts.rpcUrl)
    const [from] = (await request({ method: 'eth_accounts' })) as [Hex]
    const code = await request({
      method: 'eth_getCode',
      params: [app.facts.settlement, 'latest'],
    })
    await request({ method: 'anvil_setCode', params: [at, code] })
    const settle = { from, to: at, value: '0x7', data: calls.settle(reference(7), PAYEE) }
    const hash = (await request({ method: 'eth_sendTransaction', params: [settle] })) as Hex
    await request({ method: 'anvil_mine', params: ['0x3'] })
    // The server knows nothing of it, so that no reference is known either.
    const intent = {
      transaction_id: 'TX00000000000000000002',
      to_address: PAYEE,
      amount: '0.000000000000000007',
      eth_transaction_hash: hash,
    }
    const { verdict } = await connect({ settlement: at }).blockchain.settled(intent, quick)
    expect(verdict.evidence?.payment).to.include({ kind: 'settlement', contract: at })
    await expectFailure(() => platform.blockchain.settled(intent, quick), 'chain_disagrees')
  })

  it('needs a provider of the caller', () => {
    const options = { baseUrl: app.url, apiKey: 'k', providers: [] }
    expect(() => createPlatform(options))
      .to.throw()
      .with.property('code', 'invalid_call')
  })
})
