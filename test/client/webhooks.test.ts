import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'

import { verifyWebhook } from '../../src/client/webhooks.ts'
import { expectFailure } from '../fixtures/errors.ts'

const SECRET = `whsec_${Buffer.alloc(32, 's').toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(24, 'o').toString('base64')}`

describe('verifyWebhook', () => {
  const sentAt = new Date('2025-03-14T09:26:53Z')
  const body = '{"id":"n1","notificationType":"payments","sequence":7,"payment":{"amount":"1.00"}}'

  /** Signed by the library of the standard's own authors. */
  const signed = (text = body, secret = SECRET) => ({
    body: text,
    headers: {
      'Webhook-Id': 'n1',
      'webhook-timestamp': String(sentAt.getTime() / 1000),
      'webhook-signature': new Webhook(secret).sign('n1', sentAt, text),
    },
  })
  const verify = (request: Parameters<typeof verifyWebhook>[0], laterMs = 0, secrets = [SECRET]) =>
    verifyWebhook(request, { secrets, now: () => sentAt.getTime() + laterMs })

  it('gives what was signed, from text, bytes and headers of any kind', async () => {
    const { headers } = signed()
    for (const request of [
      signed(),
      { body: new TextEncoder().encode(body), headers: new Headers(headers) },
    ]) {
      const notification = await verify(request)
      expect(notification).to.deep.include({ id: 'n1', sequence: 7, payment: { amount: '1.00' } })
    }
  })

  it('reads the amounts of either dialect', async () => {
    const nested = body.replace('"1.00"', '{"amount":"1.00","currency":"USD"}')
    const { payment } = await verify(signed(nested))
    expect(payment).to.deep.equal({ amount: '1.00', currency: 'USD' })
  })

  it('takes one of two secrets, and one of several signatures', async () => {
    await verify(signed(), 0, [OTHER, SECRET])
    const request = signed()
    const known = request.headers['webhook-signature']
    request.headers['webhook-signature'] = `v1a,AAAA v1,!!! v1,AAAA ${known}`
    await verify(request)
  })

  it('refuses what was changed, by a byte of its body, its id or its time', async () => {
    const changed = [
      { ...signed(), body: body.replace('7', '8') },
      { ...signed(), body: `${body} ` },
      { ...signed(), headers: { ...signed().headers, 'Webhook-Id': 'n2' } },
      { ...signed(), headers: { ...signed().headers, 'webhook-timestamp': '1741944414' } },
      signed(body, OTHER),
    ]
    for (const request of changed) await expectFailure(() => verify(request), 'webhook_invalid')
  })

  it('refuses the right signature under the name of another version', async () => {
    const request = signed()
    const known = request.headers['webhook-signature']
    request.headers['webhook-signature'] = known.replace(/^v1,/, 'v2,')
    await expectFailure(() => verify(request), 'webhook_invalid')
  })

  it('refuses what is too old, too early, or has no time', async () => {
    await verify(signed(), 299_000)
    for (const laterMs of [301_000, -301_000]) {
      await expectFailure(() => verify(signed(), laterMs), 'webhook_invalid')
    }
    const timeless = { ...signed(), headers: { ...signed().headers, 'webhook-timestamp': 'now' } }
    await expectFailure(() => verify(timeless), 'webhook_invalid')
  })

  it('refuses a missing header, no secret at all, and a body that is no notification', async () => {
    for (const name of Object.keys(signed().headers)) {
      const headers = { ...signed().headers, [name]: undefined }
      await expectFailure(() => verify({ body, headers }), 'webhook_invalid')
    }
    await expectFailure(() => verify(signed(), 0, []), 'webhook_invalid')
    await expectFailure(() => verify(signed(), 0, ['whsec_']), 'webhook_invalid')
    for (const text of ['no JSON', '[]', '{}']) {
      await expectFailure(() => verify(signed(text)), 'webhook_invalid')
    }
  })
})
