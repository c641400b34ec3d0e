import { expect } from 'chai'

import { createPlatformClient } from '../../src/client/platform-client.ts'
import { faults, startBarePlatform, type BarePlatform } from '../fixtures/api/bare-platform.ts'
import { failureOf } from '../fixtures/errors.ts'

describe('the platform client at a server that is busy', () => {
  let bare: BarePlatform

  beforeEach(async () => {
    bare = await startBarePlatform()
  })
  afterEach(() => bare.stop())

  const pay = async () =>
    createPlatformClient({
      baseUrl: bare.url,
      apiKey: 'k',
      idempotencyKeys: 'ignored',
      runtime: { random: () => 0 },
    }).payments.create({ gateway_id: 2, amount: '10.50', currency: 'USD', description: 'x' })
  const unprocessed = { 'retry-after': '0', 'request-not-processed': 'true' }

  it('repeats what was not processed, though the server knows no keys', async () => {
    bare.faults.push(faults.status(503, '', unprocessed))
    await pay()
    expect(bare.payments).to.have.length(1)
  })

  it('says in the end that nothing has happened', async () => {
    for (let tries = 0; tries < 6; tries++) bare.faults.push(faults.status(503, '', unprocessed))
    const error = await failureOf(pay)
    expect(error).to.include({ tries: 6, wasNotProcessed: true, mayHaveHappened: false })
  })

  it('does not repeat a bare 503, which may be that of a proxy', async () => {
    bare.faults.push(faults.status(503, '', { 'retry-after': '0' }))
    expect(await failureOf(pay)).to.include({ tries: 1, mayHaveHappened: true })
  })
})
