import { expect } from 'chai'
import type { Hex } from 'viem'

import type { VerifyOptions } from '../../src/verify/claim.ts'
import type { DisagreementKind, Verdict } from '../../src/verify/verdict.ts'
import { verifyTransaction, type TransactionClaim } from '../../src/verify/verify-transaction.ts'
import {
  CHAIN_ID,
  calls,
  reference,
  startPaidChain,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { settledLog, transferLog, writeLogs } from '../fixtures/chain/event-logger.ts'
import { payEveryRoute, type Route } from '../fixtures/chain/every-route.ts'

const FAKE: Hex = `0x${'fa'.repeat(20)}`
const OTHER: Hex = `0x${'0e'.repeat(20)}`
const NATIVE: Hex = `0x${'0'.repeat(40)}`

describe('a payment through the settlement contract, verified by its hash', () => {
  let world: PaidChain
  let options: VerifyOptions
  let routes: Route[]

  before(async () => {
    world = await startPaidChain()
    options = { providers: [world.node('a')], confirmations: 1 }
    routes = await payEveryRoute(world)
  })
  after(() => world.chain.stop())

  const verify = (claim: Omit<TransactionClaim, 'chainId'>): Promise<Verdict> =>
    verifyTransaction({ chainId: CHAIN_ID, ...claim }, options)

  it('holds by payee and amount alone, on every route, where it said wrong_recipient', async () => {
    expect(routes).to.have.length(8)
    for (const { name, hash, payee, amount, token, reference: settled, payer } of routes) {
      const verdict = await verify({ hash, payee, amount, token })
      expect(verdict.disagreements, name).to.deep.equal([])
      const expected = { kind: 'settlement', payer, payee, amount, reference: settled }
      expect(verdict.evidence?.payment, name).to.include(expected)
    }
  })

  it('holds with its token and reference, where it said wrong_reference', async () => {
    for (const { name, ...claim } of routes) {
      expect((await verify(claim)).status, name).to.equal('holds')
    }
  })

  it('names what is different, on every route', async () => {
    for (const { name, ...claim } of routes) {
      const cases: ReadonlyArray<[object, DisagreementKind]> = [
        [{ amount: claim.amount + 100n }, 'wrong_amount'],
        [{ payee: OTHER }, 'wrong_recipient'],
        [{ payer: OTHER }, 'wrong_payer'],
        [{ token: OTHER }, 'wrong_token'],
        [{ reference: reference(999) }, 'wrong_reference'],
        [{ settlement: OTHER }, 'wrong_contract'],
      ]
      for (const [change, kind] of cases) {
        const found = kindsOf(await verify({ ...claim, ...change }))
        expect(found, `${name}, ${kind}`).to.include(kind)
      }
    }
  })

  it('counts the money of a settlement once, however many events tell of it', async () => {
    for (const { name, hash, payer, token, amount } of routes) {
      const verdict = await verify({ hash, payer, token, amount })
      expect(verdict.disagreements, name).to.deep.equal([])
      expect(verdict.evidence?.payment?.kind, name).to.equal('settlement')
    }
  })

  it('is by the payer who authorized it, whoever sent it', async () => {
    for (const { name, hash, payer } of routes) {
      expect((await verify({ hash, payer })).status, name).to.equal('holds')
    }
    const [relayed] = routes.slice(-1)
    const stranger = await verify({ hash: relayed?.hash ?? '', payer: OTHER })
    expect(kindsOf(stranger)).to.deep.equal(['wrong_payer'])
  })

  it('is not believed of a contract that logs the same', async () => {
    const { payer, payee, dollar } = world
    const order = { reference: reference(70), payer, payee, amount: 70n }
    const logs = [settledLog({ ...order, token: NATIVE }), settledLog({ ...order, token: dollar })]
    await writeLogs(world, { address: FAKE, logs })
    const hash = await world.send({ to: FAKE, value: 70n })
    const claims = [
      { payee, amount: 70n },
      { payee, amount: 70n, token: dollar },
      { reference: reference(70) },
      { payee, reference: reference(70), token: dollar, amount: 70n },
    ]
    for (const claim of claims) {
      expect(kindsOf(await verify({ hash, ...claim }))).to.deep.equal(['wrong_contract'])
    }
    const named = await verify({ hash, payee, amount: 70n, contract: FAKE })
    expect(named.status).to.equal('holds')
  })

  it('does not hide a transfer of its own kind beside it', async () => {
    const { payer, payee } = world
    const logs = [transferLog(payer, payee, 5n), transferLog(payer, payee, 5n)]
    await writeLogs(world, { address: FAKE, logs })
    const hash = await world.send({ to: FAKE })
    const claim = { hash, token: FAKE, payee, amount: 5n }
    const two = await verify(claim)
    expect(kindsOf(two)).to.deep.equal(['ambiguous'])
    expect(two.disagreements[0]?.found).to.equal('log 0, log 1')
    const second = await verify({ ...claim, log: 1 })
    expect(second.evidence?.payment?.log).to.equal(1)
    expect(kindsOf(await verify({ ...claim, log: 2 }))).to.deep.equal(['no_payment'])
  })

  it('is ambiguous among equal items of a batch until one is named', async () => {
    const { payee, settlement } = world
    const pair = [81, 82].map(reference)
    const data = calls.settleBatch(pair, [payee, payee], [8n, 8n])
    const hash = await world.send({ to: settlement, data, value: 16n })
    const claim = { hash, payee, amount: 8n }
    expect(kindsOf(await verify(claim))).to.deep.equal(['ambiguous'])
    for (const chosen of [{ reference: reference(82) }, { log: 1 }]) {
      const verdict = await verify({ ...claim, ...chosen })
      expect(verdict.evidence?.payment).to.include({ reference: reference(82), log: 1 })
    }
  })
})

function kindsOf(verdict: Verdict): DisagreementKind[] {
  return verdict.disagreements.map(({ kind }) => kind)
}
