import { expect } from 'chai'
import { pad, type Hex } from 'viem'

import { topicOf } from '../../src/chain/read/events.ts'
import type { VerifyOptions } from '../../src/verify/claim.ts'
import type { DisagreementKind, Verdict } from '../../src/verify/verdict.ts'
import { verifyMint, verifyRedeem } from '../../src/verify/verify-supply.ts'
import { verifyTransaction } from '../../src/verify/verify-transaction.ts'
import {
  CHAIN_ID,
  calls,
  lying,
  reference,
  startPaidChain,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { account } from '../fixtures/chain/deployment.ts'
import { transferLog, writeLogs, type Written } from '../fixtures/chain/event-logger.ts'
import { expectFailure } from '../fixtures/errors.ts'

const NOBODY: Hex = `0x${'0'.repeat(40)}`

describe('verifying a mint', () => {
  let world: PaidChain
  let options: VerifyOptions
  const blocks = { from: 0n, to: 0n }

  before(async () => {
    world = await startPaidChain()
    options = { providers: [world.node('a'), world.node('b')], confirmations: 1 }
    await mint(1, 100n)
    await mint(2, 200n)
    await mint(3, 200n)
    blocks.to = await world.chain.client.getBlockNumber()
  })
  after(() => world.chain.stop())

  const mint = (number: number, amount: bigint) =>
    world.send({
      to: world.dollar,
      data: calls.dollar('mintWithMemo', { to: world.payee, amount, memo: reference(number) }),
    })
  const claimOf = (amount: bigint) => ({
    chainId: CHAIN_ID,
    token: world.dollar,
    profile: 'memo' as const,
    payee: world.payee,
    amount,
    blocks,
  })

  it('holds by its memo, and tells the state of the token and what was proven', async () => {
    const verdict = await verifyMint({ ...claimOf(200n), reference: reference(3) }, options)
    expect(verdict.disagreements).to.deep.equal([])
    expect(verdict.evidence?.payment).to.include({ kind: 'mint', reference: reference(3) })
    expect(verdict.evidence?.tokenState).to.deep.equal({
      implementation: undefined,
      paused: false,
      frozen: false,
      symbol: 'RUSD',
      decimals: 6,
    })
    expect(verdict.profile?.name).to.equal('memo')
  })

  it('holds without a memo where only one matches, and is ambiguous where two do', async () => {
    expect((await verifyMint(claimOf(100n), options)).status).to.equal('holds')
    const two = await verifyMint(claimOf(200n), options)
    expect(kindsOf(two)).to.deep.equal(['ambiguous'])
    const one = await verifyMint({ ...claimOf(200n), reference: reference(2) }, options)
    const except = [one.evidence?.transaction.hash ?? '']
    const other = await verifyMint({ ...claimOf(200n), except }, options)
    expect(other.evidence?.payment?.reference).to.equal(reference(3))
  })

  it('does not hold for a mint without a memo, which no order can own', async () => {
    const address: Hex = `0x${'fb'.repeat(20)}`
    await writeLogs(world, { address, logs: [transferLog(NOBODY, world.payee, 100n)] })
    const hash = await world.send({ to: address })
    const { blocks: _, ...claim } = { ...claimOf(100n), token: address, hash }
    expect(kindsOf(await verifyMint(claim, options))).to.deep.equal(['no_payment'])
    const named = await verifyMint({ ...claim, reference: reference(1) }, options)
    expect(kindsOf(named)).to.deep.equal(['wrong_reference'])
    expect((await verifyMint({ ...claim, profile: 'erc20' }, options)).status).to.equal('holds')
  })

  it('does not hold without the event that its kind of token logs beside a mint', async () => {
    const address: Hex = `0x${'fc'.repeat(20)}`
    await writeLogs(world, { address, logs: [transferLog(NOBODY, world.payee, 100n)] })
    const hash = await world.send({ to: address })
    const { blocks: _, ...claim } = { ...claimOf(100n), token: address, hash }
    for (const profile of ['fiat-token', 'paxos'] as const) {
      expect(kindsOf(await verifyMint({ ...claim, profile }, options))).to.deep.equal([
        'no_payment',
      ])
    }
  })

  it('says that the order was not checked where no reference was claimed', async () => {
    const unnamed = await verifyMint(claimOf(100n), options)
    expect(unnamed.caveats.some((caveat) => caveat.includes('memo'))).to.equal(true)
    const named = await verifyMint({ ...claimOf(100n), reference: reference(1) }, options)
    expect(named.caveats.some((caveat) => caveat.includes('memo'))).to.equal(false)
  })

  it('finds it by a window of time', async () => {
    const window = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 3_600_000) }
    const { blocks: _, ...claim } = claimOf(100n)
    expect((await verifyMint({ ...claim, window }, options)).status).to.equal('holds')
    const early = { to: new Date('2020-01-01') }
    expect(kindsOf(await verifyMint({ ...claim, window: early }, options))).to.deep.equal([
      'missing',
    ])
  })

  it('waits for what blocks to come may hold', async () => {
    const later = { ...claimOf(999n), blocks: { from: 0n, to: 100_000n } }
    const verdict = await verifyMint(later, options)
    expect(verdict.status).to.equal('pending')
    expect(kindsOf(verdict)).to.deep.equal(['not_mined'])
  })

  it('names what is wrong, or missing', async () => {
    const claim = { ...claimOf(100n), reference: reference(1) }
    const cases: ReadonlyArray<[object, DisagreementKind]> = [
      [{ amount: 101n }, 'wrong_amount'],
      [{ payee: account(7).address }, 'wrong_recipient'],
      [{ reference: reference(77) }, 'missing'],
      [{ token: world.settlement }, 'missing'],
    ]
    for (const [change, kind] of cases) {
      expect(kindsOf(await verifyMint({ ...claim, ...change }, options))).to.deep.equal([kind])
    }
  })

  it('checks the minter against a list, for a token without memos', async () => {
    const claim = { ...claimOf(100n), profile: 'fiat-token' as const }
    const listed = await verifyMint({ ...claim, minters: [world.payer] }, options)
    expect(listed.status).to.equal('holds')
    const unlisted = await verifyMint({ ...claim, minters: [world.payee] }, options)
    expect(kindsOf(unlisted)).to.deep.equal(['wrong_minter'])
    const unchecked = await verifyMint(claim, options)
    expect(unchecked.caveats.some((caveat) => caveat.includes('minter'))).to.equal(true)
  })

  it('is never proven for a token that does not name its recipients', async () => {
    const verdict = await verifyMint({ ...claimOf(100n), profile: 'usdt' }, options)
    expect(kindsOf(verdict)).to.deep.equal(['not_provable'])
  })

  it('names the provider that keeps logs back', async () => {
    const silent = lying(world.node('x'), ({ method }, answer) =>
      method === 'eth_getLogs' ? [] : answer,
    )
    const providers = [silent, world.node('a')]
    const verdict = await verifyMint(claimOf(100n), { ...options, providers })
    expect(verdict.status).to.equal('holds')
    expect(verdict.complaints[0]).to.include({ provider: 'liar', kind: 'withholds' })
  })

  it('refuses a search without bounds', async () => {
    const { blocks: _, ...claim } = claimOf(1n)
    await expectFailure(() => verifyMint(claim, options), 'claim_invalid')
    const wide = { ...claim, blocks: { from: 0n, to: 10n ** 9n } }
    await expectFailure(() => verifyMint(wide, options), 'claim_invalid')
  })
})

describe('verifying a redeem', () => {
  let world: PaidChain
  let options: VerifyOptions

  before(async () => {
    world = await startPaidChain()
    options = { providers: [world.node('a')], confirmations: 1 }
    const { payer: to, dollar } = world
    const data = calls.dollar('mintWithMemo', { to, amount: 1000n, memo: reference(1) })
    await world.send({ to: dollar, data })
  })
  after(() => world.chain.stop())

  const claimOf = (amount: bigint) => ({
    chainId: CHAIN_ID,
    token: world.dollar,
    payer: world.payer,
    amount,
  })

  it('holds by a burn with the memo of the holder', async () => {
    const hash = await world.send({ to: world.dollar, data: calls.burn(300n, reference(5)) })
    const claim = { ...claimOf(300n), profile: 'memo' as const, hash, reference: reference(5) }
    const verdict = await verifyRedeem(claim, options)
    expect(verdict.disagreements).to.deep.equal([])
    const other = await verifyRedeem({ ...claim, payer: world.payee }, options)
    expect(kindsOf(other)).to.deep.equal(['wrong_payer'])
    const late = { ...claim, window: { to: new Date('2020-01-01') } }
    expect(kindsOf(await verifyRedeem(late, options))).to.deep.equal(['outside_window'])
  })

  it('does not hold for funds that were seized, which nobody redeemed', async () => {
    const address: Hex = `0x${'fd'.repeat(20)}`
    const { payer } = world
    const burnt = transferLog(payer, NOBODY, 300n)
    const decreased = { ...burnt, topics: [topicOf('SupplyDecreased'), pad(payer)] }
    const wiped = { topics: [topicOf('FrozenAddressWiped'), pad(payer)], data: '0x' } as const
    const kindsFor = async (logs: Written[]) => {
      await writeLogs(world, { address, logs })
      const hash = await world.send({ to: address })
      const claim = { ...claimOf(300n), token: address, profile: 'paxos' as const, hash }
      return kindsOf(await verifyRedeem(claim, options))
    }
    expect(await kindsFor([decreased, burnt])).to.deep.equal([])
    expect(await kindsFor([wiped, decreased, burnt])).to.deep.equal(['wiped'])
  })

  it('holds by a transfer to the issuer, and says that no burn belongs to it', async () => {
    const issuer = account(8).address
    const args = { to: issuer, amount: 40n, memo: reference(6) }
    const hash = await world.send({
      to: world.dollar,
      data: calls.dollar('transferWithMemo', args),
    })
    const claim = { ...claimOf(40n), profile: 'fiat-token' as const, hash, issuer }
    const verdict = await verifyRedeem(claim, options)
    expect(verdict.status).to.equal('holds')
    expect(verdict.profile?.redeem).to.include('a single burn belongs to no redeem')
    const other = await verifyRedeem({ ...claim, issuer: world.payee }, options)
    expect(kindsOf(other)).to.deep.equal(['wrong_recipient'])
    const { issuer: _, ...without } = claim
    await expectFailure(() => verifyRedeem(without, options), 'claim_invalid')
    const paid = { chainId: CHAIN_ID, hash, token: world.dollar, payee: issuer, amount: 40n }
    const transaction = await verifyTransaction({ ...paid, reference: reference(6) }, options)
    expect(transaction.status).to.equal('holds')
  })
})

function kindsOf(verdict: Verdict): DisagreementKind[] {
  return verdict.disagreements.map(({ kind }) => kind)
}
