import { expect } from 'chai'
import { sql } from 'kysely'

import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../../src/domain/states.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { insertCharge } from '../../../src/store/rails/charges.ts'
import { listEvents } from '../../../src/store/transactions/events.ts'
import {
  findTransaction,
  listMoves,
  moveTransaction,
  recordTransaction,
  type NewTransaction,
  type Transaction,
} from '../../../src/store/transactions/transactions.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { databaseCodeOf, failureOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

const CAUSE = { actor: 'gateway:card', reason: 'the card was charged' }

describe('recordTransaction', () => {
  it('stores every field, pending, and gives the same back', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const order = {
      transactionId: 'TX01234567890123456789',
      userId,
      type: 'settlement' as const,
      amount: 1_000_000_000_000_000_001n,
      currency: 'ETH' as const,
      description: 'Invoice 14 – “Größe”',
      ethTransactionHash: `0x${'ab'.repeat(32)}`,
      institutionId: 2,
      gatewayId: 3,
      metadata: { order_id: '14', customer_name: 'Ada' },
    }
    const stored = await recordTransaction(db, { ...order, ...CAUSE })
    expect(stored).to.deep.include({ ...order, status: 'pending' })
    expect(stored.createdAt).to.deep.equal(stored.updatedAt)
    const { transactionId } = order
    expect(await findTransaction(db, { userId, transactionId })).to.deep.equal(stored)
  })

  it('leaves a move from nowhere, and an event', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const stored = await makeTransaction(db, { userId, ...CAUSE })
    const [move, ...others] = await listMoves(db, stored)
    expect(move).to.deep.include({ from: null, to: 'pending', ...CAUSE })
    expect(others).to.deep.equal([])
    const was = { previous_status: null, eth_transaction_hash: null }
    const data = { status: 'pending', reason: CAUSE.reason, ...was }
    const events = await listEvents(db, { userId, limit: 10 })
    expect(events.map(({ type, subject, data }) => ({ type, subject, data }))).to.deep.equal([
      { type: 'transaction.created', subject: stored.transactionId, data },
    ])
  })

  it('leaves nothing behind when its transaction is rolled back', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const broken = db.transaction().execute(async (open) => {
      await makeTransaction(open, { userId })
      throw new Error('crashed')
    })
    expect(await broken.catch((error: Error) => error.message)).to.equal('crashed')
    expect(await countTraces(db)).to.deep.equal({ made: 0n, moves: 0n, events: 0n })
  })

  it('refuses the same public id twice, with all its traces', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { transactionId } = await makeTransaction(db, { userId })
    expect(await databaseCodeOf(makeTransaction(db, { userId, transactionId }))).to.equal('23505')
    expect(await countTraces(db)).to.deep.equal({ made: 1n, moves: 1n, events: 1n })
  })

  const refused = {
    'an id of another form': { transactionId: 'TX1' },
    'no amount': { amount: 0n },
    'an amount below zero': { amount: -1n },
    'an amount beyond the grammar': { amount: 10n ** 15n },
    'no description': { description: '' },
    'a long description': { description: 'x'.repeat(513) },
    'a hash in capitals': { ethTransactionHash: `0x${'AB'.repeat(32)}` },
    'a gateway that cannot be': { gatewayId: 0 },
    'no actor': { actor: '' },
  }
  for (const [name, fields] of Object.entries(refused)) {
    it(`has a constraint against ${name}`, async () => {
      const { db } = await freshDatabase()
      const { id: userId } = await makeUser(db)
      expect(await databaseCodeOf(makeTransaction(db, { userId, ...fields }))).to.equal('23514')
    })
  }
})

describe('moveTransaction', () => {
  it('moves by the table, and keeps who, when and why', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const made = await makeTransaction(db, { userId })
    const { transactionId } = made
    const hash = `0x${'01'.repeat(32)}`
    await moveTransaction(db, {
      transactionId,
      from: 'pending',
      to: 'processing',
      ethTransactionHash: hash,
      ...CAUSE,
    })
    const done = await moveTransaction(db, {
      transactionId,
      from: 'processing',
      to: 'completed',
      actor: 'sender',
      reason: 'final',
    })
    expect(done).to.deep.include({
      ...made,
      status: 'completed',
      ethTransactionHash: hash,
      updatedAt: done.updatedAt,
    })
    const moves = await listMoves(db, made)
    expect(moves.map(({ at: _at, ...rest }) => rest).slice(1)).to.deep.equal([
      { from: 'pending', to: 'processing', ...CAUSE },
      { from: 'processing', to: 'completed', actor: 'sender', reason: 'final' },
    ])
    const events = await listEvents(db, { userId, limit: 10 })
    expect(events.map(({ type }) => type)).to.deep.equal([
      'transaction.created',
      'transaction.processing',
      'transaction.completed',
    ])
    expect(await countTraces(db)).to.deep.equal({ made: 1n, moves: 3n, events: 3n })
  })

  it('refuses a move that is not in the table, and writes nothing', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { transactionId } = await makeTransaction(db, { userId })
    const move = { transactionId, from: 'pending', to: 'refunded', ...CAUSE } as const
    expect((await failureOf(() => moveTransaction(db, move))).code).to.equal('illegal_move')
    expect(await countTraces(db)).to.deep.equal({ made: 1n, moves: 1n, events: 1n })
  })

  it('refuses to move what has moved on, and what does not exist', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { transactionId } = await makeTransaction(db, { userId, status: 'failed' })
    for (const id of [transactionId, 'TX00000000000000000000']) {
      const move = { transactionId: id, from: 'pending', to: 'processing', ...CAUSE } as const
      expect((await failureOf(() => moveTransaction(db, move))).code).to.equal('moved_on')
    }
    expect(await countTraces(db)).to.deep.equal({ made: 1n, moves: 2n, events: 2n })
  })

  it('lets one of many that make the same move win', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { transactionId } = await makeTransaction(db, { userId })
    const move = { transactionId, from: 'pending', to: 'failed', ...CAUSE } as const
    const tries = Array.from({ length: 20 }, () => moveTransaction(db, move))
    const results = await Promise.allSettled(tries)
    expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
    expect(await countTraces(db)).to.deep.equal({ made: 1n, moves: 2n, events: 2n })
  })

  it('completes nothing on the chain without its hash', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const hash = `0x${'ab'.repeat(32)}` as const
    const settle = (parts: Partial<NewTransaction>) => () =>
      makeTransaction(db, { userId, type: 'settlement', status: 'completed', ...parts })
    expect(await databaseCodeOf(settle({})())).to.equal('23001')
    expect(await databaseCodeOf(settle({ type: 'deposit' })())).to.equal('23001')
    expect(await databaseCodeOf(settle({ type: 'withdrawal' })())).to.equal('23001')
    await settle({ ethTransactionHash: hash })()
    const checkout = await makeTransaction(db, { userId, status: 'processing' })
    const card = await makeTransaction(db, { userId, status: 'processing' })
    const charge = { gatewayId: 1, kind: 'crypto_checkout' } as const
    await insertCharge(db, {
      ...charge,
      transactionId: checkout.transactionId,
      chainId: 31_337,
      reference: hash,
      expiresAt: new Date(),
    })
    await insertCharge(db, { ...charge, transactionId: card.transactionId, kind: 'card' })
    const complete = ({ transactionId }: Transaction, ethTransactionHash?: string) =>
      moveTransaction(db, {
        transactionId,
        from: 'processing',
        to: 'completed',
        actor: 'test',
        reason: 'paid',
        ...(ethTransactionHash !== undefined && { ethTransactionHash }),
      })
    await complete(card)
    expect(await databaseCodeOf(complete(checkout))).to.equal('23001')
    expect((await complete(checkout, hash)).ethTransactionHash).to.equal(hash)
  })

  it('keeps a history that cannot be changed', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    await makeTransaction(db, { userId })
    const changes = [
      sql`update transaction_moves set reason = 'another'`,
      sql`delete from transaction_moves`,
      sql`update events set type = 'a.b'`,
      sql`delete from events`,
    ]
    for (const change of changes) {
      expect(await databaseCodeOf(change.execute(db))).to.equal('23001')
    }
  })

  it('has the same table in the database: no other move can be written there', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { id } = await makeTransaction(db, { userId })
    const legal: string[] = []
    for (const from of [null, ...TRANSACTION_STATUSES]) {
      for (const to of TRANSACTION_STATUSES) {
        const code = await databaseCodeOf(
          sql`
            insert into transaction_moves
              (internal_id, user_id, from_status, to_status, actor, reason, log_key)
            values (${id}, ${userId}, ${from}, ${to}, 'test', 'test', 0)`.execute(db),
        )
        if (code === undefined) legal.push(`${from} → ${to}`)
        else expect(code).to.equal('23514')
      }
    }
    expect(legal).to.deep.equal([
      'null → pending',
      'pending → processing',
      'pending → failed',
      'processing → completed',
      'processing → failed',
      'completed → refunded',
    ])
  })
})

describe('findTransaction', () => {
  it('does not find what belongs to somebody else', async () => {
    const { db } = await freshDatabase()
    const { id: mine } = await makeUser(db)
    const { id: theirs } = await makeUser(db)
    const { transactionId } = await makeTransaction(db, { userId: theirs })
    expect(await findTransaction(db, { userId: mine, transactionId })).to.equal(undefined)
    expect((await findTransaction(db, { userId: theirs, transactionId }))?.userId).to.equal(theirs)
  })
})

describe('the slots of a tally', () => {
  it('are the same in the program and in the database', async () => {
    const { db } = await freshDatabase()
    const { rows } = await sql<{ slot: number }>`
      select tally_slot(type, status) as slot
      from unnest(${TRANSACTION_TYPES}::text[]) with ordinality as types (type, row)
      cross join unnest(${TRANSACTION_STATUSES}::text[]) with ordinality as statuses (status, col)
      order by row, col`.execute(db)
    expect(rows.map(({ slot }) => slot)).to.deep.equal(Array.from({ length: 25 }, (_, i) => i + 1))
  })
})

async function countTraces(db: Db): Promise<unknown> {
  const { rows } = await sql`
    select (select count(*) from transactions) as made,
      (select count(*) from transaction_moves) as moves,
      (select count(*) from events) as events`.execute(db)
  return rows[0]
}
