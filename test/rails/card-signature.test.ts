import { createHmac } from 'node:crypto'

import { expect } from 'chai'
import * as fc from 'fast-check'

import { createCard } from '../../src/rails/card.ts'
import { anyText, byteChange, changeByte } from '../fixtures/chain/bytes.ts'

const SEED = 11
const NOW_S = 1_741_944_413
const webhookSecret = 'whsec_of_a_test'

/** A webhook only wakes a charge up, but one that anybody could send would wake it all day. */
describe('the signature of any webhook of a card gateway', () => {
  const now = () => new Date(NOW_S * 1000)
  const card = createCard({ url: 'http://127.0.0.1:9', key: 'sk_test_x', webhookSecret, now })
  const verify = async (signature: unknown, body: Uint8Array) => {
    const webhook = { headers: { 'stripe-signature': signature }, body: Buffer.from(body) }
    const { signal } = new AbortController()
    return card.verify?.(webhook as never, { signal, isExpected: async () => true })
  }
  const mac = (body: Uint8Array): Buffer =>
    createHmac('sha256', webhookSecret).update(`${NOW_S}.`).update(body).digest()
  const header = (signature: Uint8Array): string =>
    `t=${NOW_S},v1=${Buffer.from(signature).toString('hex')}`
  const json = fc.json().map((text) => new TextEncoder().encode(text))

  it('lets through what the gateway signed, whatever JSON it is', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (body) => {
        expect(await verify(header(mac(body)), body)).to.be.an('object')
      }),
      { numRuns: 60, seed: SEED },
    )
  })

  it('keeps out what has any byte of its body or signature changed', async () => {
    await fc.assert(
      fc.asyncProperty(json, byteChange, async (body, change) => {
        expect(await verify(header(mac(body)), changeByte(body, change))).to.equal(undefined)
        expect(await verify(header(changeByte(mac(body), change)), body)).to.equal(undefined)
      }),
      { numRuns: 60, seed: SEED },
    )
  })

  it('keeps out any other header and body, without a crash', async () => {
    const any = fc.oneof(
      anyText,
      fc.constant(undefined),
      fc.array(fc.string(), { maxLength: 3 }),
      fc.string().map((text) => `t=${NOW_S},v1=${text}`),
    )
    await fc.assert(
      fc.asyncProperty(any, fc.uint8Array(), async (signature, body) => {
        expect(await verify(signature, body)).to.equal(undefined)
      }),
      { numRuns: 60, seed: SEED },
    )
  })
})
