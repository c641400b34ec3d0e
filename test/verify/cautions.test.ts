import { expect } from 'chai'
import { encodeFunctionData, type Abi, type Hex } from 'viem'

import { referenceDollarAbi } from '../../src/bindings/abis.ts'
import type { VerifyOptions } from '../../src/verify/claim.ts'
import { prove } from '../../src/verify/prove.ts'
import { verifyTransaction, type TransactionClaim } from '../../src/verify/verify-transaction.ts'
import {
  CHAIN_ID,
  calls,
  reference,
  startPaidChain,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { account } from '../fixtures/chain/deployment.ts'
import { transferLog, writeLogs } from '../fixtures/chain/event-logger.ts'

const TOKEN: Hex = `0x${'fc'.repeat(20)}`

const ANY_CALL: Abi = referenceDollarAbi

describe('a payment that is worth less than it seems', () => {
  let world: PaidChain
  let options: VerifyOptions

  before(async () => {
    world = await startPaidChain()
    options = { providers: [world.node('a'), world.node('b')], confirmations: 1 }
    const args = { to: world.payer, amount: 20_000_000n, memo: reference(1) }
    await world.send({ to: world.dollar, data: calls.dollar('mintWithMemo', args) })
  })
  after(() => world.chain.stop())

  const caveatsOf = async (claim: Omit<TransactionClaim, 'chainId'>): Promise<string> => {
    const verdict = await verifyTransaction({ chainId: CHAIN_ID, ...claim }, options)
    expect(verdict.disagreements).to.deep.equal([])
    return verdict.caveats.join('\n')
  }
  const dollarCall = (functionName: string, args: readonly unknown[]): Hex =>
    encodeFunctionData({ abi: ANY_CALL, functionName, args })

  it('has a caveat where a stranger moves nothing in the name of the payer', async () => {
    const { payer, dollar } = world
    const stranger = account(6).address
    const data = dollarCall('transferFrom', [payer, stranger, 0n])
    const hash = await world.send({ to: dollar, data, from: stranger })
    const claim = { hash, payer, payee: stranger, token: dollar }
    expect(await caveatsOf(claim)).to.include('The amount is 0')
    expect(await caveatsOf({ ...claim, amount: 0n })).not.to.include('The amount is 0')
    const proof = await prove({ chainId: CHAIN_ID, hash }, options)
    expect(proof.verdict.caveats.join('\n')).to.include('The amount is 0')
  })

  it('has a caveat where the same receipt takes it back, in whole or in part', async () => {
    const { payer, payee } = world
    const logs = [transferLog(payer, payee, 9n), transferLog(payee, payer, 9n)]
    await writeLogs(world, { address: TOKEN, logs })
    const hash = await world.send({ to: TOKEN })
    const claim = { hash, token: TOKEN, payee, amount: 9n }
    expect(await caveatsOf(claim)).to.include('sends it back to the payer')
    const proof = await prove({ chainId: CHAIN_ID, hash, log: 0 }, options)
    expect(proof.verdict.caveats.join('\n')).to.include('sends it back to the payer')
    await writeLogs(world, { address: TOKEN, logs: logs.slice(0, 1) })
    const kept = await world.send({ to: TOKEN })
    expect(await caveatsOf({ ...claim, hash: kept })).not.to.include('back to the payer')
    const part = [...logs.slice(0, 1), transferLog(payee, payer, 4n)]
    await writeLogs(world, { address: TOKEN, logs: part })
    const some = await world.send({ to: TOKEN })
    expect(await caveatsOf({ ...claim, hash: some })).to.include('sends 4 units back')
  })

  it('has a caveat where it goes from an address to itself', async () => {
    const { payer, dollar } = world
    const args = { to: payer, amount: 5n, memo: reference(2) }
    const hash = await world.send({ to: dollar, data: calls.dollar('transferWithMemo', args) })
    const caveats = await caveatsOf({ hash, token: dollar, payee: payer, amount: 5n })
    expect(caveats).to.include('one address')
  })

  it('has a caveat where one provider alone says that it is there, or that it is not', async () => {
    const alone = options.providers.slice(0, 1)
    const name = alone[0]?.name ?? ''
    const hash = await world.send({ to: world.payee, value: 3n })
    const absent: Hex = `0x${'ab'.repeat(32)}`
    for (const one of [hash, absent]) {
      const claim = { chainId: CHAIN_ID, hash: one, payee: world.payee, amount: 3n }
      const single = await verifyTransaction(claim, { ...options, providers: alone })
      expect(single.status).to.equal(one === hash ? 'holds' : 'disagrees')
      expect(single.caveats.join('\n')).to.include(name)
      const second = alone.map((provider) => ({ ...provider, name: 'second' }))
      const both = await verifyTransaction(claim, { ...options, providers: [...alone, ...second] })
      expect(both.status).to.equal(single.status)
      expect(both.caveats.join('\n')).not.to.include(name)
    }
  })

  it('has a caveat while it is not final, and none is proven of it', async () => {
    const hash = await world.send({ to: world.payee, value: 3n })
    const deep = { ...options, confirmations: 5 }
    const claim = { chainId: CHAIN_ID, hash, payee: world.payee, amount: 3n }
    const verdict = await verifyTransaction(claim, deep)
    expect(verdict.status).to.equal('pending')
    expect(verdict.caveats.join('\n')).to.include('not final')
    const proof = await prove({ chainId: CHAIN_ID, hash }, deep)
    expect(proof.quittance).to.equal(undefined)
    expect(proof.verdict.caveats.join('\n')).to.include('not final')
    expect(await caveatsOf(claim)).not.to.include('not final')
  })

  it('is told as a person reads it, and a forgotten token is named', async () => {
    const { payee, dollar } = world
    const args = { to: payee, amount: 12_345_678n, memo: reference(3) }
    const hash = await world.send({ to: dollar, data: calls.dollar('transferWithMemo', args) })
    const claim = { chainId: CHAIN_ID, hash, payee, amount: 12_345_678n }
    const named = await verifyTransaction({ ...claim, token: dollar }, options)
    expect(named.evidence?.amountText).to.equal('12.345678 RUSD')
    const forgotten = await verifyTransaction(claim, options)
    expect(forgotten.disagreements).to.have.length(1)
    expect(forgotten.disagreements[0]).to.include({ kind: 'wrong_token', found: dollar })
    expect(forgotten.disagreements[0]?.message).to.include('12.345678 RUSD').and.to.include(dollar)
    const less = { ...claim, token: dollar, amount: 12_345_679n }
    const [difference] = (await verifyTransaction(less, options)).disagreements
    expect(difference?.message).to.equal('The amount is 12.345678 RUSD, not 12.345679 RUSD.')
    expect(difference).to.include({ expected: '12345679', found: '12345678' })
  })

  it('is shown in units where the token or the nodes do not tell its decimals', async () => {
    const { payer, payee, dollar } = world
    await writeLogs(world, { address: TOKEN, logs: [transferLog(payer, payee, 9n)] })
    const hash = await world.send({ to: TOKEN })
    const claim = { chainId: CHAIN_ID, hash, payee, amount: 9n, token: TOKEN }
    const silent = await verifyTransaction(claim, options)
    expect(silent.evidence?.amountText).to.equal('9 in the smallest unit')
    const args = { to: payee, amount: 7n, memo: reference(4) }
    const paid = await world.send({ to: dollar, data: calls.dollar('transferWithMemo', args) })
    const b = world.node('b')
    const liar = {
      name: 'b',
      request: async (call: { method: string; params?: readonly unknown[] }) =>
        JSON.stringify(call).includes('0x313ce567') ? `0x${'0'.repeat(63)}2` : b.request(call),
    }
    const two = { ...options, providers: [world.node('a'), liar] }
    const verdict = await verifyTransaction(
      { ...claim, token: dollar, amount: 7n, hash: paid },
      two,
    )
    expect(verdict.status).to.equal('holds')
    expect(verdict.evidence?.amountText).to.equal('7 in the smallest unit')
  })
})
