import { expect } from 'chai'
import { sql } from 'kysely'

import { columnsOf, given, readAll, readOne } from '../../../src/store/database/rows.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

type Visit = {
  visitId: number
  guest: string | undefined
  day: string
  room: { number: number; floor: number | undefined } | undefined
}

const VISIT = columnsOf<Visit>()(
  `v.visit_id::float8, v.guest, v.on_day as day, v.room_number as room.number, v.floor as room.floor`,
)

const VISITS = sql`(values
  (1::bigint, 'ada', 'monday', 7, 2), (2, null, 'tuesday', 8, null), (3, 'bo', 'friday', null, 4)
) as v (visit_id, guest, on_day, room_number, floor)`

describe('the reader of rows', () => {
  it('gives null as undefined, and columns their fields', async () => {
    const { db } = await freshDatabase()
    const read = await readAll<Visit>(db)`select ${VISIT} from ${VISITS} order by v.visit_id`
    expect(read).to.deep.equal([
      { visitId: 1, guest: 'ada', day: 'monday', room: { number: 7, floor: 2 } },
      { visitId: 2, guest: undefined, day: 'tuesday', room: { number: 8, floor: undefined } },
      { visitId: 3, guest: 'bo', day: 'friday', room: undefined },
    ])
  })

  it('gives the first row, or undefined where there is none', async () => {
    const { db } = await freshDatabase()
    const none = readOne<Visit>(db)`select ${VISIT} from ${VISITS} where false`
    expect(await none).to.equal(undefined)
    const name = readOne<{ guest: string | undefined }>(db)`select null as guest`
    expect(await name).to.deep.equal({ guest: undefined })
  })

  it('takes the columns of one table among several', async () => {
    const { db } = await freshDatabase()
    const columns = columnsOf<{ visitId: bigint }>()('visit_id')
    const statement = readAll<{ visitId: bigint }>(db)
    expect(
      await statement`
        select ${columns.of('v')} from ${VISITS} join ${sql`(values (2::bigint)) as w (visit_id)`}
          on w.visit_id = v.visit_id`,
    ).to.deep.equal([{ visitId: 2n }])
  })

  it('has rows that go with a statement, and the planner knows how many', async () => {
    const { db } = await freshDatabase()
    const guests = given([{ id: 2, guest: 'bo' }, { id: 1 }])`id bigint, guest text`
    const { rows } = await sql`select * from ${guests} as row order by id`.execute(db)
    expect(rows).to.deep.equal([
      { id: 1n, guest: null },
      { id: 2n, guest: 'bo' },
    ])
    const plan = sql<{ 'QUERY PLAN': string }>`explain select * from ${guests} as row`
    expect((await plan.execute(db)).rows[0]?.['QUERY PLAN']).to.include('rows=2 ')
  })

  it('is refused by the compiler where list and type differ, or a field is null', async () => {
    type Pair = { one: number; twoThree: number }
    // @ts-expect-error the type has a field more
    columnsOf<Pair>()('one')
    // @ts-expect-error the list has a field more
    columnsOf<Pair>()('one, two_three, four')
    const { db } = await freshDatabase()
    // @ts-expect-error null would be read as undefined
    const reading = readAll<{ one: number | null }>(db)`select 1 as one` as Promise<unknown>
    expect(await reading).to.have.length(1)
  })
})
