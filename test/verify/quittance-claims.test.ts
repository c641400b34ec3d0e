import { expect } from 'chai'
import { getAddress, type Hex } from 'viem'

import { check, type QuittanceClaim, type Trust } from '../../src/verify/check.ts'
import type { VerifyOptions } from '../../src/verify/claim.ts'
import { prove } from '../../src/verify/prove.ts'
import { formatQuittance, type Quittance } from '../../src/verify/quittance.ts'
import type { DisagreementKind, Verdict } from '../../src/verify/verdict.ts'
import {
  CHAIN_ID,
  calls,
  reference,
  startPaidChain,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { account } from '../fixtures/chain/deployment.ts'
import { settledLog, transferLog, writeLogs } from '../fixtures/chain/event-logger.ts'
import { expectFailure } from '../fixtures/errors.ts'

const WORTHLESS: Hex = `0x${'fd'.repeat(20)}`
const OTHER: Hex = `0x${'0e'.repeat(20)}`

describe('a quittance, compared with what one is owed', () => {
  let world: PaidChain
  let options: VerifyOptions
  let settled: Hex
  let paid: Hex

  before(async () => {
    world = await startPaidChain()
    options = { providers: [world.node('a')], confirmations: 1 }
    const { payee, payer, settlement, dollar } = world
    const data = calls.settle(reference(1), payee)
    settled = await world.send({ to: settlement, data, value: 250n })
    const args = { to: payer, amount: 1_000n, memo: reference(2) }
    await world.send({ to: dollar, data: calls.dollar('mintWithMemo', args) })
    const given = { to: payee, amount: 70n, memo: reference(3) }
    paid = await world.send({ to: dollar, data: calls.dollar('transferWithMemo', given) })
  })
  after(() => world.chain.stop())

  const proofOf = async (hash: Hex, order?: Record<string, string>): Promise<string> => {
    const { quittance, verdict } = await prove({ chainId: CHAIN_ID, hash, order }, options)
    expect(verdict.disagreements).to.deep.equal([])
    return quittance ?? ''
  }
  const checked = (file: string, claim?: QuittanceClaim, more: Trust = {}): Promise<Verdict> => {
    const { block } = JSON.parse(file) as Quittance
    return check(file, { trustedBlockHash: block.hash, claim, ...more })
  }

  it('holds for what is claimed, and names each thing that is not', async () => {
    const { payer, payee, dollar } = world
    const [coin, token] = [await proofOf(settled), await proofOf(paid)]
    const order = { payer, payee, amount: 250n, reference: reference(1) }
    const transfer = { payer, payee, amount: 70n, reference: reference(3), token: dollar }
    expect((await checked(coin, order)).status).to.equal('holds')
    expect((await checked(coin, { ...order, token: null })).status).to.equal('holds')
    expect((await checked(token, transfer)).status).to.equal('holds')
    const cases: ReadonlyArray<[QuittanceClaim, DisagreementKind]> = [
      [{ payer: OTHER }, 'wrong_payer'],
      [{ payee: OTHER }, 'wrong_recipient'],
      [{ amount: 71n }, 'wrong_amount'],
      [{ token: OTHER }, 'wrong_token'],
      [{ reference: reference(9) }, 'wrong_reference'],
      [{ contract: OTHER }, 'wrong_contract'],
    ]
    for (const [change, kind] of cases) {
      expect(kindsOf(await checked(coin, { ...order, ...change }))).to.deep.equal([kind])
      expect(kindsOf(await checked(token, { ...transfer, ...change }))).to.deep.equal([kind])
      const alone = 'amount' in change ? { ...change, token: dollar } : change
      expect(kindsOf(await checked(token, alone))).to.deep.equal([kind])
    }
    expect(kindsOf(await checked(coin, {}, { chainId: 1 }))).to.deep.equal(['wrong_chain'])
    await expectFailure(() => checked(coin, { payee: '0x12' }), 'claim_invalid')
  })

  it('takes an amount without a token for native coin, and never for any token', async () => {
    const verdict = await checked(await proofOf(paid), { amount: 70n })
    expect(kindsOf(verdict)).to.deep.equal(['wrong_token'])
  })

  it('of a worthless token has a caveat until that token is named, where it had none', async () => {
    const { payer, payee } = world
    await writeLogs(world, { address: WORTHLESS, logs: [transferLog(payer, payee, 10n ** 9n)] })
    const file = await proofOf(await world.send({ to: WORTHLESS }))
    const caveatsOf = async (claim?: QuittanceClaim, more?: Trust): Promise<string> => {
      const verdict = await checked(file, claim, more)
      expect(verdict.status).to.equal('holds')
      return verdict.caveats.join('\n')
    }
    const warning = `The token ${WORTHLESS} was not named`
    expect(await caveatsOf()).to.include(warning)
    expect(await caveatsOf({ payee })).to.include(warning)
    expect(await caveatsOf({}, { knownTokens: [world.dollar] })).to.include(warning)
    expect(await caveatsOf({ token: WORTHLESS })).not.to.include(warning)
    expect(await caveatsOf({}, { knownTokens: [WORTHLESS] })).not.to.include(warning)
  })

  it('is not taken from a contract that only logs what the settlement contract does', async () => {
    const { payer, payee } = world
    const zero: Hex = `0x${'0'.repeat(40)}`
    const order = { reference: reference(5), payer, payee, token: zero, amount: 5n }
    await writeLogs(world, { address: OTHER, logs: [settledLog(order)] })
    const hash = await world.send({ to: OTHER })
    const request = { chainId: CHAIN_ID, hash, contract: OTHER }
    const file = (await prove(request, options)).quittance ?? ''
    expect((await checked(file)).caveats.join('\n')).to.include(OTHER)
    const claim = { payee, amount: 5n }
    expect(kindsOf(await checked(file, claim))).to.deep.equal(['wrong_contract'])
    expect((await checked(file, { ...claim, contract: OTHER })).status).to.equal('holds')
    expect((await checked(file, { ...claim, settlement: OTHER })).status).to.equal('holds')
  })

  it('says that nobody was asked whether its block is final', async () => {
    const file = await proofOf(settled)
    expect((await checked(file)).caveats.join('\n')).to.include('No node was asked')
    const asked = await check(file, options)
    expect(asked.caveats).to.deep.equal([
      `Only ${options.providers[0]?.name} says that the block is part of the chain.`,
    ])
    const early = await check(file, { ...options, confirmations: 500 })
    expect(early.caveats.join('\n')).to.include('not final')
  })

  it('tells the amount as a person reads it, where a node is asked', async () => {
    const token = await proofOf(paid)
    expect((await check(token, options)).evidence?.amountText).to.equal('0.00007 RUSD')
    expect((await checked(token)).evidence?.amountText).to.equal('70 in the smallest unit')
    const coin = await checked(await proofOf(settled))
    expect(coin.evidence?.amountText).to.equal('0.00000000000000025 ETH')
  })

  it('is made of facts in any case, and holds, where it was called tampered', async () => {
    const { payer, payee, dollar } = world
    const order = {
      payee: account(3).address,
      payer: account(0).address,
      token: getAddress(dollar),
      amount: '0070',
      reference: reference(3).toUpperCase().replace('0X', '0x'),
      chain_id: '31337',
      transaction_hash: paid.toUpperCase().replace('0X', '0x'),
      id: 'Invoice 42',
    }
    const file = await proofOf(paid, order)
    const { order: written } = JSON.parse(file) as Quittance
    expect(written).to.deep.equal({
      payer,
      payee,
      token: dollar,
      amount: '70',
      reference: reference(3),
      chain_id: '31337',
      transaction_hash: paid,
      id: 'Invoice 42',
    })
    expect((await checked(file)).status).to.equal('holds')
  })

  it('is not made with a fact that the payment contradicts', async () => {
    const { payee, dollar } = world
    const cases: ReadonlyArray<[Record<string, string>, DisagreementKind]> = [
      [{ payee: OTHER }, 'wrong_recipient'],
      [{ payer: payee }, 'wrong_payer'],
      [{ token: OTHER }, 'wrong_token'],
      [{ token: '' }, 'wrong_token'],
      [{ amount: '71' }, 'wrong_amount'],
      [{ reference: reference(4) }, 'wrong_reference'],
      [{ chainId: '1' }, 'wrong_chain'],
      [{ chain_id: '1' }, 'wrong_chain'],
      [{ block_number: '1' }, 'wrong_block'],
      [{ blockHash: reference(4) }, 'wrong_block'],
      [{ hash: settled }, 'tampered'],
    ]
    for (const [order, kind] of cases) {
      const made = await prove({ chainId: CHAIN_ID, hash: paid, order }, options)
      expect(kindsOf(made.verdict)).to.deep.equal([kind])
      expect(made.quittance).to.equal(undefined)
    }
    for (const order of [{ payee: 'Zoë' }, { amount: '0.00007' }, { chain_id: '0x7a69' }]) {
      const request = { chainId: CHAIN_ID, hash: paid, order }
      await expectFailure(() => prove(request, options), 'claim_invalid')
    }
    const { digest: _, ...body } = JSON.parse(await proofOf(paid)) as Quittance
    for (const order of [{ payee: OTHER }, { amount: 'seventy' }, { chain_id: '1' }]) {
      const forged = await checked(formatQuittance({ ...body, order }))
      expect(kindsOf(forged)).to.deep.equal(['tampered'])
    }
    const mixed = await checked(formatQuittance({ ...body, order: { payee: account(3).address } }))
    expect(mixed.status).to.equal('holds')
    expect(dollar).to.equal(body.payment.token)
  })
})

function kindsOf(verdict: Verdict): DisagreementKind[] {
  return verdict.disagreements.map(({ kind }) => kind)
}
