import { setTimeout } from 'node:timers/promises'

import { expect } from 'chai'
import { sql } from 'kysely'

import { BaseError } from '../../../src/base/errors.ts'
import { signOutside } from '../../../src/sender/signers/sign-outside.ts'
import type { SignTransaction } from '../../../src/sender/sign.ts'
import { listWaitingAttempts } from '../../../src/store/orders/attempts.ts'
import { findLane } from '../../../src/store/orders/lanes.ts'
import { CHAIN_ID } from '../../engines/sim/world.ts'
import { createBench, type Bench } from '../../fixtures/books/sender-bench.ts'
import { failureOf } from '../../fixtures/errors.ts'

describe('a signer that is elsewhere', () => {
  let bench: Bench
  /** The nonces that it signed for. */
  let asked: bigint[]

  beforeEach(async () => {
    bench = await createBench()
    asked = []
  })
  after(() => bench.stop())

  /** Locks every lane first, which nobody else may hold meanwhile. */
  const signsUnlocked: SignTransaction = async (...what) => {
    await sql`select 1 from nonce_lanes for update nowait`.execute(bench.db)
    return bench.signers.sign(...what)
  }

  const senderBy = (sign: SignTransaction) =>
    bench.sender({
      signers: {
        addresses: bench.signers.addresses,
        sign: signOutside(
          async (signer, transaction) => {
            asked.push(transaction.nonce)
            return sign(signer, transaction)
          },
          () => false,
        ),
      },
    })

  const pay = (sender: ReturnType<typeof senderBy>) =>
    sender.pay(bench.requestOf({ payer: bench.signers.addresses[0]! }), bench.signal)

  const lane = () => ({ chainId: CHAIN_ID, signer: bench.signers.addresses[0]! })

  it('is asked while nothing is locked, and the order is paid', async () => {
    const sender = senderBy(signsUnlocked)
    const { order } = await pay(sender)
    expect(asked).to.deep.equal([0n])
    await bench.pass(sender)
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('is asked again where others took the nonce meanwhile, and each has its own', async () => {
    const sender = senderBy(bench.signers.sign)
    await Promise.all([pay(sender), pay(sender), pay(sender)])
    const slots = await listWaitingAttempts(bench.db, [lane()], 16)
    expect(slots.map(({ nonce }) => nonce)).to.deep.equal([0n, 1n, 2n])
    expect((await findLane(bench.db, lane()))?.nextNonce).to.equal(3n)
  })

  it('leaves nothing behind where it fails, and the next order has the nonce', async () => {
    const away = new BaseError('The signer is away.', { code: 'signer_failed', retryable: true })
    let isAway = true
    const sender = senderBy((...what) =>
      isAway ? Promise.reject(away) : bench.signers.sign(...what),
    )
    const error = await failureOf(() => pay(sender))
    expect(error.code).to.equal('signer_failed')
    expect(await bench.isEmpty()).to.equal(true)
    isAway = false
    await pay(sender)
    expect(asked).to.deep.equal([0n, 0n])
  })

  it('is asked for a replacement while nothing is locked', async () => {
    const sender = senderBy(signsUnlocked)
    const { order } = await pay(sender)
    await bench.pass(sender)
    for (let pass = 0; pass < 5 && asked.length < 2; pass++) await bench.pass(sender)
    expect(asked).to.deep.equal([0n, 0n])
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('is asked for several lanes at once, so that a slow one outlasts no lease', async () => {
    const sender = senderBy(bench.signers.sign)
    for (const payer of bench.signers.addresses) {
      await sender.pay(bench.requestOf({ payer }), bench.signal)
    }
    let [signing, most] = [0, 0]
    const slow = senderBy(async (...what) => {
      signing += 1
      most = Math.max(most, signing)
      await setTimeout(50)
      signing -= 1
      return bench.signers.sign(...what)
    })
    await bench.pass(sender)
    for (let pass = 0; pass < 3; pass++) await bench.pass(slow)
    expect(most).to.equal(2)
  })
})
