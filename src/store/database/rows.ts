import { sql, type RawBuilder } from 'kysely'

import type { Db } from './database.ts'

/** The columns that make a `T`, for a select list or a returning clause. */
export type Columns<T> = RawBuilder<T> & {
  /** The same of one table among several. */
  of: (alias: string) => RawBuilder<T>
}

/**
 * Takes a list such as `chain_id::float8, created_at, since_at as since, block_hash as block.hash`.
 * A column gets the name of the field that it fills: its own in camel case, or the one behind `as`,
 * where a point leads into an object. The compiler refuses a list that lacks a field of `T`, and
 * one that fills a field that `T` does not have. To SQL the name goes before a column's own: where
 * a list gives one column the name of another, `order by` needs the table before it.
 */
export function columnsOf<T>() {
  return <const List extends string>(list: Exact<T, List>): Columns<T> => {
    const columns = (list as string).split(',').map(columnOf)
    const render = (alias?: string): RawBuilder<T> =>
      sql.raw(columns.map((column) => rendered(column, alias)).join(', '))
    return Object.assign(render(), { of: render })
  }
}

/** All rows of a statement, in which null is undefined and the fields of objects are in these. */
export function readAll<T>(db: Db): Reader<T, T[]> {
  const reader = (...statement: Statement) => read(db, statement)
  return reader as Reader<T, T[]>
}

/** The first row, undefined where there is none. */
export function readOne<T>(db: Db): Reader<T, T | undefined> {
  const reader = async (...statement: Statement) => (await read(db, statement))[0]
  return reader as Reader<T, T | undefined>
}

/**
 * Rows that go with a statement, as a table with these columns: `from ${given(rows)`id bigint`} as
 * row`. The limit says nothing but how many they are. Without it a plan is for a hundred, and reads
 * a whole table where it could look up the few.
 */
export function given(rows: readonly object[]) {
  return (...columns: Statement): RawBuilder<unknown> => sql`(
    select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (${sql(...columns)})
    limit ${rows.length}
  )`
}

/** A type with a field that is null cannot be read: it would be undefined. */
type Reader<T, Answer> = null extends T[keyof T]
  ? never
  : (...statement: Statement) => Promise<Answer>

type Statement = [text: TemplateStringsArray, ...values: unknown[]]

type Row = Record<string, unknown>

async function read(db: Db, statement: Statement): Promise<readonly Row[]> {
  const { rows } = await sql<Row>(...statement).execute(db)
  const names = Object.keys(rows[0] ?? {})
  return names.some((name) => name.includes('.')) ? nested(rows, planOf(names)) : flat(rows)
}

/** Faster than a copy, and nobody else has the rows. */
function flat(rows: readonly Row[]): readonly Row[] {
  for (const row of rows) for (const name in row) if (row[name] === null) row[name] = undefined
  return rows
}

/** An object of which the first column is null is undefined. */
function nested(rows: readonly Row[], { plain, objects }: Plan): Row[] {
  return rows.map((row) => {
    const read = filled(plain, row)
    for (const { field, shape } of objects) {
      if (row[shape.columns[0]!] !== null) read[field] = filled(shape, row)
    }
    return read
  })
}

type Plan = { plain: Shape; objects: ReadonlyArray<{ field: string; shape: Shape }> }

type Shape = { columns: readonly string[]; fields: readonly string[]; blank: Row }

/** There are as many as lists of columns in the code. */
const plans = new Map<string, Plan>()

function planOf(names: readonly string[]): Plan {
  const key = names.join()
  const plan = plans.get(key) ?? makePlan(names)
  plans.set(key, plan)
  return plan
}

function makePlan(names: readonly string[]): Plan {
  const columns = names.filter((name) => !name.includes('.'))
  const groups = Map.groupBy(
    names.filter((name) => name.includes('.')),
    (name) => name.slice(0, name.indexOf('.')),
  )
  const objects = [...groups].map(([field, some]) => ({
    field,
    shape: { columns: some, ...shapeOf(some.map((name) => name.slice(field.length + 1))) },
  }))
  const { blank } = shapeOf([...columns, ...groups.keys()])
  return { plain: { columns, fields: columns, blank }, objects }
}

function shapeOf(fields: readonly string[]): Pick<Shape, 'fields' | 'blank'> {
  return { fields, blank: Object.fromEntries(fields.map((field) => [field, undefined])) }
}

/** To copy an object that has all fields is much faster than to add them one by one. */
function filled({ columns, fields, blank }: Shape, row: Row): Row {
  const object = { ...blank }
  for (let at = 0; at < columns.length; at++) {
    const value = row[columns[at]!]
    if (value !== null) object[fields[at]!] = value
  }
  return object
}

type Column = { table: string | undefined; column: string; cast: string; name: string }

function columnOf(text: string): Column {
  const [, table, column = '', cast = '', name] = COLUMN.exec(text) ?? []
  return { table, column, cast, name: name ?? column.replace(/_(.)/g, (_, at) => at.toUpperCase()) }
}

const COLUMN = /^\s*(?:(\w+)\.)?(\w+)(::\w+)?(?: as ([\w.]+))?\s*$/

function rendered({ table, column, cast, name }: Column, alias = table): string {
  const source = `${alias === undefined ? '' : `${alias}.`}${column}${cast}`
  return name === column ? source : `${source} as "${name}"`
}

type Exact<T, List extends string> = [FieldsOf<List>, keyof T] extends [keyof T, FieldsOf<List>]
  ? List
  : { unknown: Exclude<FieldsOf<List>, keyof T>; missing: Exclude<keyof T, FieldsOf<List>> }

type FieldsOf<List extends string, Found = never> = List extends `${infer One},${infer Rest}`
  ? FieldsOf<Rest, Found | FieldOf<One>>
  : Found | FieldOf<List>

type FieldOf<Text extends string> = Text extends `${string} as ${infer Name}`
  ? Before<Trimmed<Name>, '.'>
  : Camel<Before<Behind<Trimmed<Text>, '.'>, '::'>>

type Before<
  Text extends string,
  Mark extends string,
> = Text extends `${infer Start}${Mark}${string}` ? Start : Text

type Behind<Text extends string, Mark extends string> = Text extends `${string}${Mark}${infer End}`
  ? End
  : Text

type Camel<Text extends string> = Text extends `${infer Start}_${infer Rest}`
  ? `${Start}${Capitalize<Camel<Rest>>}`
  : Text

type Trimmed<Text extends string> = Text extends `${' ' | '\n'}${infer Rest}`
  ? Trimmed<Rest>
  : Text extends `${infer Rest}${' ' | '\n'}`
    ? Trimmed<Rest>
    : Text
