import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'
import { Type } from 'typebox'

import { defineEndpoint } from '../../../src/api/admission/endpoint.ts'
import { createIdempotently } from '../../../src/api/admission/idempotently.ts'
import {
  createScreening,
  type Screen,
  type ScreenedPayment,
} from '../../../src/api/admission/screen.ts'
import { createLogger } from '../../../src/base/logger.ts'
import type { User } from '../../../src/store/access/users.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { namedAnswer, requestObject } from '../../../src/wire/shapes.ts'
import { callerOf, makeUser } from '../../fixtures/api/access.ts'
import { startApi, type Api } from '../../fixtures/api/api.ts'
import { countRows } from '../../fixtures/api/rails-api.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

const MOVE = { way: 'chain', userId: 7, amount: '1', currency: 'ETH' } as const

/** Stores one transaction for each payee. */
const payEndpoint = defineEndpoint({
  route: 'POST /api/items',
  operationId: 'pay',
  summary: 'Pay',
  tag: 'Blockchain',
  access: 'blockchain:write',
  body: requestObject({ payees: Type.Array(Type.String()) }),
  answer: namedAnswer('Paid', { count: Type.Integer() }),
  moves: ({ body, caller }) =>
    body.payees.map((description, place) => {
      return { ...MOVE, userId: caller.userId, description, field: `payees.${place}` }
    }),
  handle: async ({ body, caller, db }) => {
    for (const _ of body.payees) await makeTransaction(db, { userId: caller.userId })
    return { success: true as const, count: body.payees.length }
  },
})

describe('a screen', () => {
  let db: Db
  let user: User
  let asked: ScreenedPayment[]

  beforeEach(async () => {
    db = (await freshDatabase()).db
    user = await makeUser(db)
    asked = []
  })

  const start = (screen: Screen): Promise<Api> => {
    const logger = createLogger({ level: 'silent' })
    const asking: Screen = (payment, signal) => {
      asked.push(payment)
      return screen(payment, signal)
    }
    const screening = createScreening({ screen: asking, logger })
    const idempotently = createIdempotently({ db, screen: screening })
    const authenticate = async () => callerOf(user)
    return startApi({ endpoints: [payEndpoint], hooks: { db, idempotently, authenticate } })
  }
  const pay = (api: Api, ...payees: string[]) =>
    api.send({
      method: 'POST',
      url: '/api/items',
      headers: { 'idempotency-key': 'key-1' },
      body: { payees },
    })
  const stored = () => countRows(db, 'transactions')

  it('is asked once about what is accepted, and not about a repeat of it', async () => {
    const api = await start(async () => ({ allowed: true }))
    expect((await pay(api, 'Ada')).status).to.equal(200)
    expect((await pay(api, 'Ada')).headers).to.include({ 'idempotent-replayed': 'true' })
    expect(asked).to.deep.equal([{ ...MOVE, userId: user.id, description: 'Ada' }])
    expect(await stored()).to.equal(1n)
  })

  it('is not asked about a request that is not valid', async () => {
    const api = await start(async () => ({ allowed: true }))
    const body = { payees: 'Ada' }
    expect((await api.send({ method: 'POST', url: '/api/items', body })).status).to.equal(400)
    expect(asked).to.deep.equal([])
  })

  it('refuses with a word that the caller sees, and stores nothing', async () => {
    let isListed = true
    const api = await start(async () =>
      isListed ? { allowed: false, rule: 'sanctions' } : { allowed: true },
    )
    const { status, body } = await pay(api, 'Ada')
    expect(status).to.equal(403)
    expect(body).to.include({ code: 'policy_refused' })
    expect(body['details']).to.have.nested.property('[0].code', 'sanctions')
    expect(await stored()).to.equal(0n)
    isListed = false
    expect((await pay(api, 'Ada')).status).to.equal(200)
  })

  it('names each item of a batch that it refuses, in their order', async () => {
    const api = await start(async ({ description }) =>
      description?.startsWith('x') ? { allowed: false, rule: 'listed' } : { allowed: true },
    )
    const payees = Array.from({ length: 40 }, (_, place) => (place % 13 === 1 ? 'x' : 'a'))
    const { status, body } = await pay(api, ...payees)
    expect(status).to.equal(403)
    const details = body['details'] as { field: string }[]
    expect(details.map(({ field }) => field)).to.deep.equal(['payees.1', 'payees.14', 'payees.27'])
    expect(await stored()).to.equal(0n)
  })

  const silent: ReadonlyArray<[string, Screen]> = [
    ['throws', () => Promise.reject(new Error('the list is away'))],
    [
      'throws at once',
      (): never => {
        throw new Error('the list is away')
      },
    ],
    ['never answers', () => new Promise(() => undefined)],
    ['answers nothing', async () => undefined as never],
    ['answers a word', async () => 'allowed' as never],
    ['allows with something else than true', async () => ({ allowed: 1 }) as never],
    ['refuses without a rule', async () => ({ allowed: false }) as never],
    ['refuses by a rule that is no word', async () => ({ allowed: false, rule: 'No!' })],
  ]
  for (const [name, screen] of silent) {
    it(`lets nothing pass where it ${name}: the caller is told to come again`, async () => {
      const api = await start(screen)
      const answer = await Promise.race([pay(api, 'Ada'), sleep(15_000, undefined, { ref: false })])
      expect(answer?.status).to.equal(503)
      expect(answer?.body).to.include({ code: 'unavailable' })
      expect(answer?.headers).to.have.property('retry-after')
      expect(await stored()).to.equal(0n)
    })
  }

  it('lets nothing pass of a batch of which one item gets no answer', async () => {
    const api = await start(async ({ description }) => {
      if (description === 'x') throw new Error('the list is away')
      return { allowed: true }
    })
    expect((await pay(api, 'a', 'x', 'a')).status).to.equal(503)
    expect(await stored()).to.equal(0n)
  })
})
