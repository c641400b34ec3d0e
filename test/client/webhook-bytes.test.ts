import { expect } from 'chai'
import * as fc from 'fast-check'

import { codeOf } from '../../src/base/errors.ts'
import { verifyWebhook, type SignedRequest } from '../../src/client/webhooks.ts'
import { createWebhookSecret, signWebhook } from '../../src/domain/webhook-secrets.ts'
import { anyText, byteChange, changeByte } from '../fixtures/chain/bytes.ts'

const SEED = 11
const NOW_S = 1_741_944_413

const secret = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => createWebhookSecret(() => Buffer.from(bytes)))
const id = fc.stringMatching(/^[\w.-]{1,40}$/)
const body = fc
  .tuple(id, fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4, noNullPrototype: true }))
  .filter(([, more]) => !['id', '__proto__'].some((name) => Object.hasOwn(more, name)))
  .map(([own, more]) => JSON.stringify({ ...more, id: own }))
const message = fc.record({ id, body, secrets: fc.array(secret, { minLength: 1, maxLength: 2 }) })

type Message = { id: string; body: string; secrets: string[] }

describe('the signature of any webhook', () => {
  const verify = (request: SignedRequest, secrets: readonly string[]) =>
    verifyWebhook(request, { secrets, now: () => NOW_S * 1000 })
  /** What ails it, where it is not believed. Any other failure is a crash. */
  const isBelieved = async (request: SignedRequest, secrets: readonly string[]) => {
    const failure = await verify(request, secrets).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (failure !== undefined) expect(codeOf(failure)).to.equal('webhook_invalid')
    return failure === undefined
  }
  const signed = ({ id, body, secrets }: Message) => ({
    body: new TextEncoder().encode(body),
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(NOW_S),
      'webhook-signature': signWebhook({ id, timestampS: NOW_S, body, secrets }),
    },
  })

  it('is believed by who has one of its secrets, and by nobody else', async () => {
    await fc.assert(
      fc.asyncProperty(message, secret, async (sent, other) => {
        fc.pre(!sent.secrets.includes(other))
        const request = signed(sent)
        for (const one of sent.secrets) expect((await verify(request, [one])).id).to.be.a('string')
        expect(await isBelieved(request, [other])).to.equal(false)
      }),
      { numRuns: 60, seed: SEED },
    )
  })

  it('is not believed with any byte changed of body, id, time or signature', async () => {
    const part = fc.constantFrom('body', 'id', 'time', 'signature')
    await fc.assert(
      fc.asyncProperty(message, part, byteChange, async (sent, part, change) => {
        const [secret = ''] = sent.secrets
        const request = signed({ ...sent, secrets: [secret] })
        const { headers } = request
        if (part === 'body') request.body = changeByte(request.body, change)
        if (part === 'id') headers['webhook-id'] = changeText(sent.id, change)
        if (part === 'time') headers['webhook-timestamp'] = changeText(String(NOW_S), change)
        if (part === 'signature') {
          const bytes = Buffer.from(headers['webhook-signature'].slice('v1,'.length), 'base64')
          const changed = Buffer.from(changeByte(bytes, change)).toString('base64')
          headers['webhook-signature'] = `v1,${changed}`
        }
        expect(await isBelieved(request, [secret])).to.equal(false)
      }),
      { numRuns: 120, seed: SEED },
    )
  })

  it('is refused in our words, never by a crash, whatever its headers and body are', async () => {
    const text = anyText
    const signature = fc.oneof(
      text,
      fc.array(fc.base64String(), { maxLength: 12 }).map((all) => `v1,${all.join(' v1,')}`),
    )
    const request = fc.record({
      body: fc.oneof(text, fc.uint8Array()),
      headers: fc.record(
        {
          'webhook-id': text,
          'webhook-timestamp': fc.oneof(text, fc.constant(String(NOW_S))),
          'webhook-signature': fc.oneof(signature, fc.array(signature)),
        },
        { requiredKeys: [] },
      ),
    })
    await fc.assert(
      fc.asyncProperty(request, secret, async (request, secret) => {
        expect(await isBelieved(request, [secret])).to.equal(false)
      }),
      { numRuns: 60, seed: SEED },
    )
  })
})

/** A byte of a header, which is read as Latin-1. */
function changeText(text: string, change: { at: number; by: number }): string {
  return Buffer.from(changeByte(Buffer.from(text, 'latin1'), change)).toString('latin1')
}
