import { expect } from 'chai'

import type { VerifyOptions } from '../../src/verify/claim.ts'
import type { DisagreementKind, Verdict } from '../../src/verify/verdict.ts'
import { verifySettlement, verifyTransaction } from '../../src/verify/verify-transaction.ts'
import {
  CHAIN_ID,
  calls,
  reference,
  startPaidChain,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { account } from '../fixtures/chain/deployment.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('verifying a transaction', () => {
  let world: PaidChain
  let options: VerifyOptions

  before(async () => {
    world = await startPaidChain()
    options = { providers: [world.node('a'), world.node('b')], confirmations: 2 }
  })
  after(() => world.chain.stop())

  it('holds for a plain payment, and gives the evidence', async () => {
    const { payer, payee } = world
    const hash = await world.send({ to: payee, value: 5n })
    await world.mine(1)
    const verdict = await verifyTransaction(
      { chainId: CHAIN_ID, hash, payer, payee, amount: 5n },
      options,
    )
    expect(verdict.disagreements).to.deep.equal([])
    expect(verdict.status).to.equal('holds')
    expect(verdict.evidence?.provider).to.equal('a')
    expect(verdict.evidence?.agreeing).to.deep.equal(['a', 'b'])
    expect(verdict.evidence?.payment).to.include({ kind: 'native', payer, payee, amount: 5n })
    expect(verdict.evidence?.receipt).to.deep.equal({ succeeded: true, gasUsed: 21_000n, logs: 0 })
    expect(verdict.evidence?.confirmations).to.equal(2n)
  })

  it('names what is different', async () => {
    const { payer, payee, dollar } = world
    const hash = await world.send({ to: payee, value: 7n })
    await world.mine(1)
    const claim = { chainId: CHAIN_ID, hash, payer, payee, amount: 7n }
    const other = account(5).address
    const cases: ReadonlyArray<[object, DisagreementKind[]]> = [
      [{ amount: 8n }, ['wrong_amount']],
      [{ payee: other }, ['wrong_recipient']],
      [{ payer: other }, ['wrong_payer']],
      [{ payee: other, amount: 1n }, ['wrong_recipient', 'wrong_amount']],
      [{ token: dollar }, ['wrong_token']],
      [{ blockHash: reference(1) }, ['reorged']],
      [{ window: { to: new Date('2020-01-01') } }, ['outside_window']],
      [{ window: { from: new Date('2100-01-01') } }, ['outside_window']],
    ]
    for (const [change, kinds] of cases) {
      const verdict = await verifyTransaction({ ...claim, ...change }, options)
      expect(kindsOf(verdict)).to.deep.equal(kinds)
      expect(verdict.status).to.equal('disagrees')
    }
  })

  it('does not overlook a payer, or an amount of 0, that is all that is claimed', async () => {
    const hash = await world.send({ to: world.payee, value: 7n })
    await world.mine(1)
    const claim = { chainId: CHAIN_ID, hash }
    const { payer, payee } = world
    const own = await verifyTransaction({ ...claim, payer }, options)
    expect(own.status).to.equal('holds')
    const other = await verifyTransaction({ ...claim, payer: payee }, options)
    expect(kindsOf(other)).to.deep.equal(['wrong_payer'])
    const nothing = await verifyTransaction({ ...claim, amount: 0n }, options)
    expect(kindsOf(nothing)).to.deep.equal(['wrong_amount'])
    const contract = { ...claim, contract: world.settlement }
    expect(kindsOf(await verifyTransaction(contract, options))).to.deep.equal(['wrong_contract'])
  })

  it('waits for finality, and says how much is missing', async () => {
    const hash = await world.send({ to: world.payee, value: 1n })
    const verdict = await verifyTransaction({ chainId: CHAIN_ID, hash }, options)
    expect(verdict.status).to.equal('pending')
    expect(verdict.disagreements[0]).to.include({ kind: 'not_final', expected: '2', found: '1' })
  })

  it('waits for the block that the chain itself calls final', async () => {
    const final = { ...options, confirmations: 'finalized' } as const
    const claim = { chainId: CHAIN_ID, hash: await world.send({ to: world.payee, value: 1n }) }
    const early = await verifyTransaction(claim, final)
    expect(early.status).to.equal('pending')
    expect(kindsOf(early)).to.deep.equal(['not_final'])
    await world.mine(100)
    expect((await verifyTransaction(claim, final)).status).to.equal('holds')
  })

  it('waits for one that is not mined, and tells when another took its nonce', async () => {
    const { client } = world.chain
    await client.setAutomine(false)
    const hash = await world.send({ to: world.payee, value: 1n })
    const claim = { chainId: CHAIN_ID, hash }
    const waiting = await verifyTransaction(claim, options)
    expect(waiting.status).to.equal('pending')
    expect(kindsOf(waiting)).to.deep.equal(['not_mined'])
    const nonce = await client.getTransactionCount({ address: world.payer })
    await client.dropTransaction({ hash })
    await client.setAutomine(true)
    await world.send({ to: world.payee, value: 2n, nonce: `0x${nonce.toString(16)}` })
    const { payer } = world
    const recent = await verifyTransaction({ ...claim, payer, nonce: BigInt(nonce) }, options)
    expect(recent.status).to.equal('pending')
    expect(kindsOf(recent)).to.deep.equal(['not_final'])
    await world.mine(1)
    const replaced = await verifyTransaction({ ...claim, payer, nonce: BigInt(nonce) }, options)
    expect(replaced.status).to.equal('disagrees')
    expect(kindsOf(replaced)).to.deep.equal(['replaced'])
  })

  it('knows a missing transaction from one that a stale node cannot know', async () => {
    const claim = { chainId: CHAIN_ID, hash: reference(99) }
    expect(kindsOf(await verifyTransaction(claim, options))).to.deep.equal(['missing'])
    const later = () => Date.now() + 24 * 3600 * 1000
    const stale = await verifyTransaction(claim, { ...options, now: later })
    expect(stale.status).to.equal('pending')
    expect(kindsOf(stale)).to.deep.equal(['provider_lags', 'provider_lags'])
  })

  it('names a reverted transaction', async () => {
    const data = calls.settle(reference(0), world.payee)
    const hash = await world.send({ to: world.settlement, data })
    await world.mine(1)
    const verdict = await verifyTransaction({ chainId: CHAIN_ID, hash }, options)
    expect(kindsOf(verdict)).to.deep.equal(['reverted'])
  })

  it('finds no payment in a contract creation, and the one inside a settlement', async () => {
    const creation = await world.send({ data: '0x6000600055' })
    const data = calls.settle(reference(3), world.payee)
    const inside = await world.send({ to: world.settlement, data, value: 9n })
    await world.mine(1)
    const claim = { chainId: CHAIN_ID, payee: world.payee, amount: 9n }
    const created = await verifyTransaction({ ...claim, hash: creation }, options)
    expect(kindsOf(created)).to.deep.equal(['no_payment'])
    const internal = await verifyTransaction({ ...claim, hash: inside }, options)
    expect(internal.status).to.equal('holds')
  })

  it('reads transactions of every type that the node mines', async () => {
    const { chain, payee } = world
    const from = account(6)
    const authorization = await account(4).signAuthorization?.({
      address: world.settlement,
      chainId: CHAIN_ID,
      nonce: 0,
    })
    const accessList = [{ address: payee, storageKeys: [reference(1)] }]
    const kinds = [
      { type: 'legacy', gasPrice: 3_000_000_000n },
      { type: 'eip2930', gasPrice: 3_000_000_000n, accessList },
      { type: 'eip1559', accessList },
      { type: 'eip7702', authorizationList: [authorization] },
    ] as const
    for (const [at, kind] of kinds.entries()) {
      const request = { ...kind, account: from, to: payee, value: 11n, gas: 200_000n, chain: null }
      const hash = await chain.client.sendTransaction(request as never)
      await world.mine(1)
      const claim = { chainId: CHAIN_ID, hash, payee, amount: 11n }
      const verdict = await verifyTransaction(claim, options)
      expect(verdict.disagreements, kind.type).to.deep.equal([])
      expect(verdict.evidence?.transaction.type).to.equal([0, 1, 2, 4][at])
    }
  })

  it('refuses a claim that makes no sense before it asks anyone', async () => {
    const claim = { chainId: CHAIN_ID, hash: reference(1) }
    const wrong = [
      { ...claim, hash: '0x12' },
      { ...claim, hash: `${claim.hash}zz` },
      { ...claim, chainId: 0 },
      { ...claim, payee: '0xZZ' },
      { ...claim, payee: '0x52908400098527886E0F7030069857D2E4169Ee7' },
      { ...claim, amount: -1n },
      { ...claim, reference: 'invoice 42' },
      { ...claim, log: -1 },
      { ...claim, settlement: '0xZZ' },
      { ...claim, window: { from: new Date('no') } },
    ]
    const asked = { name: 'a', request: () => Promise.reject(new Error('asked')) }
    for (const one of wrong) {
      await expectFailure(() => verifyTransaction(one, { providers: [asked] }), 'claim_invalid')
    }
    for (const providers of [[], [asked, asked]]) {
      await expectFailure(() => verifyTransaction(claim, { providers }), 'claim_invalid')
    }
  })
})

describe('verifying a settlement', () => {
  let world: PaidChain
  let options: VerifyOptions

  before(async () => {
    world = await startPaidChain()
    options = { providers: [world.node('a')], confirmations: 1 }
  })
  after(() => world.chain.stop())

  const claimOf = (hash: string, number: number) => ({
    chainId: CHAIN_ID,
    hash,
    reference: reference(number),
    payee: world.payee,
    amount: 100n,
    token: null,
  })

  it('holds for the order of this reference among a batch', async () => {
    const references = [10, 11, 12].map(reference)
    const payees = references.map(() => world.payee)
    const data = calls.settleBatch(references, payees, [100n, 100n, 100n])
    const hash = await world.send({ to: world.settlement, data, value: 300n })
    const verdict = await verifySettlement(claimOf(hash, 11), options)
    expect(verdict.disagreements).to.deep.equal([])
    expect(verdict.evidence?.payment).to.include({
      kind: 'settlement',
      reference: reference(11),
      payer: world.payer,
      log: 1,
    })
    expect(verdict.caveats).to.have.length(1)
  })

  it('names a wrong reference, amount, payee, token and contract', async () => {
    const data = calls.settle(reference(20), world.payee)
    const hash = await world.send({ to: world.settlement, data, value: 100n })
    const claim = claimOf(hash, 20)
    const other = account(5).address
    const cases: ReadonlyArray<[object, DisagreementKind]> = [
      [{ reference: reference(21) }, 'wrong_reference'],
      [{ amount: 99n }, 'wrong_amount'],
      [{ payee: other }, 'wrong_recipient'],
      [{ token: world.dollar }, 'wrong_token'],
      [{ contract: other }, 'wrong_contract'],
      [{ payer: other }, 'wrong_payer'],
    ]
    for (const [change, kind] of cases) {
      const verdict = await verifySettlement({ ...claim, ...change }, options)
      expect(kindsOf(verdict)).to.deep.equal([kind])
    }
  })
})

function kindsOf(verdict: Verdict): DisagreementKind[] {
  return verdict.disagreements.map(({ kind }) => kind)
}
