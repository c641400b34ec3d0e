import { PGlite } from '@electric-sql/pglite'
import { expect } from 'chai'
import { sql } from 'kysely'

import type { Database } from '../../../src/store/database/database.ts'
import { codeOf } from '../../../src/base/errors.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { embeddedDatabase } from '../../fixtures/store/database.ts'
import { fillUnmigrated } from '../../fixtures/store/prepared-data.ts'

describe('the connection to the embedded database', () => {
  let database: Database

  before(async () => {
    database = await embeddedDatabase(fillUnmigrated)
  })
  after(() => database.close())

  it('sends each statement in one message, and plans it three times at most', async () => {
    await database.ping()
    const sent = await sentBy(async () => {
      for (let id = 0; id < 10; id++) {
        const { rows } = await sql<{ id: number }>`select ${id}::int as id`.execute(database.db)
        expect(rows).to.deep.equal([{ id }])
      }
    })
    const read = sent.filter((message) => message.includes('select $1::int as id'))
    expect({ sent: sent.length, read: read.length }).to.deep.equal({ sent: 10, read: 3 })
  })

  it('goes on after a statement that fails, in a transaction as well', async () => {
    const { db } = database
    await sql`create table numbers (id int primary key)`.execute(db)
    const add = (to: typeof db) => sql`insert into numbers values (${1})`.execute(to)
    await add(db)
    const twice = await db
      .transaction()
      .execute(add)
      .catch((error: unknown) => error)
    expect(codeOf(twice)).to.equal('23505')
    await db.transaction().execute((open) => sql`delete from numbers`.execute(open))
    await add(db)
    expect((await sql`select * from numbers`.execute(db)).rows).to.have.length(1)
  })

  it('waits for no other work after each statement, and lets it go on after some', async () => {
    await database.ping()
    const ask = async (count: number): Promise<void> => {
      for (let asked = 0; asked < count; asked++) await database.ping()
    }
    const few = await turnsDuring(() => ask(10))
    const many = await turnsDuring(() => ask(1000))
    expect(few).to.be.at.most(4)
    expect(many).to.be.within(2, 500)
  })

  it('lets what has just arrived ask its questions before statements go on', async () => {
    await database.ping()
    const later: number[] = []
    let asked = 0
    const sent = await sentBy(async (all) => {
      const arriving = setInterval(() => {
        const before = all.length
        setImmediate(() => later.push(all.length - before))
      }, 5)
      for (; later.length < 10 && asked < 20_000; asked++) await database.ping()
      clearInterval(arriving)
    })
    expect(sent).to.have.length(asked)
    expect(later).to.have.length.at.least(10)
    // One that arrives while the process stands still, as for its garbage, may come too late.
    const late = later.filter((statements) => statements > 0)
    expect(late.length).to.be.below(later.length / 2)
  })

  it('looks rows up by their keys with a plan that was made while there were few', async () => {
    const { db } = database
    await sql`create table rows (id int primary key, name char(500))`.execute(db)
    await sql`insert into rows select id, '' from generate_series(1, 100) id`.execute(db)
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain (generic_plan) select * from rows where id = any($1::int[])`.execute(db)
    expect(rows.map((row) => row['QUERY PLAN']).join()).to.match(/Index Cond/)
  })

  it('carries values and answers of many megabytes', async () => {
    const text = 'x'.repeat(20_000_000)
    const { rows } = await sql<{ text: string }>`select ${text}::text as text`.execute(database.db)
    expect(rows[0]?.text === text).to.equal(true)
  })

  it('begins anew where a migration changed what a statement returns', async () => {
    const { db } = database
    await sql`create table things (id int)`.execute(db)
    const read = () => sql`select * from things where id > ${0}`.execute(db)
    for (let time = 0; time < 4; time++) await read()
    await sql`alter table things add name text`.execute(db)
    expect((await failureOf(read)).code).to.equal('database_unavailable')
    await sql`insert into things values (${1}, ${'one'})`.execute(db)
    expect((await read()).rows).to.deep.equal([{ id: 1, name: 'one' }])
  })
})

/** How often the event loop turned meanwhile, in which other work took a while each time. */
async function turnsDuring(work: () => Promise<void>): Promise<number> {
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns += 1
    const until = performance.now() + 2
    while (performance.now() < until);
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isDone = true
  return turns
}

type Send = (this: PGlite, message: Uint8Array, options: object) => Promise<void>

/** What the database was sent meanwhile. */
async function sentBy(work: (sent: readonly string[]) => Promise<void>): Promise<string[]> {
  const send = Reflect.get(PGlite.prototype, 'execProtocolRawStream') as Send
  const sent: string[] = []
  PGlite.prototype.execProtocolRawStream = function (message, options) {
    sent.push(Buffer.from(message).toString('latin1'))
    return send.call(this, message, options)
  }
  try {
    await work(sent)
  } finally {
    PGlite.prototype.execProtocolRawStream = send
  }
  return sent
}
