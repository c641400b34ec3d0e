import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'

import { expect } from 'chai'
import { sql } from 'kysely'

import { messageOf } from '../src/base/errors.ts'
import { createLogger } from '../src/base/logger.ts'
import type { Database, Db } from '../src/store/database/database.ts'
import { DatabaseUnavailableError } from '../src/store/database/trouble.ts'
import { emptyDatabase } from './fixtures/store/database.ts'

/** What opens a door by its form alone. */
const FORMS: Readonly<Record<string, RegExp>> = {
  'a private key in PEM': /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[\w+/=]{40}/,
  'a key of our own API': /\bsk_(?:live|sandbox)_[0-9A-Za-z]{49}\b/,
  'a secret of a webhook': /\bwhsec_[\w+/]{32,}={0,2}/,
  'a token': /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/,
  'a key of a cloud': /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}\b/,
  'a token of a code host': /\bgh[pousr]_\w{36}\b|\bgithub_pat_\w{60,}|\bglpat-[\w-]{20}\b/,
  'a token of a registry': /\bnpm_[0-9A-Za-z]{36}\b|_authToken\s*=\s*[\w-]{20,}/,
  'a private key of Ethereum':
    /(?:private|deployer|signer|secret)_?key\w*['"]?\s*[:=]\s*['"`]0x[0-9a-f]{64}['"`]/i,
}

/** They are published, and worth nothing: where each stands, and why. */
const KNOWN: Readonly<Record<string, string>> = {
  'README.md: a key of our own API': 'the printed session of a sandbox that is gone',
  'src/wire/group-a/subscriptions.ts: a secret of a webhook': 'the example of the documents',
}

describe('the repository', () => {
  const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' })
    .split('\0')
    .filter((path) => path !== '' && lstatSync(path, { throwIfNoEntry: false })?.isFile())

  it('holds no secret but those that everybody knows', () => {
    const found = files.flatMap((path) => {
      const text = readFileSync(path, 'latin1')
      return Object.entries(FORMS)
        .filter(([, form]) => form.test(text))
        .map(([what]) => `${path}: ${what}`)
        .filter((finding) => KNOWN[finding] === undefined)
    })
    expect(found).to.deep.equal([])
  })

  it('holds no file that is one', () => {
    const names = /(?:^|\/)(?:\.env(?:\..*)?|\.npmrc|id_(?:rsa|ed25519)|.*\.(?:pem|p12|pfx|key))$/
    expect(files.filter((path) => names.test(path))).to.deep.equal([])
  })

  it('knows a secret when it sees one', () => {
    const secrets = [
      ['-----BEGIN ', 'PRIVATE KEY-----\n', 'MC4CAQAwBQYDK2VwBCIEI'.repeat(3)],
      ['sk_', 'live_', 'a'.repeat(49)],
      ['whsec_', 'b'.repeat(44)],
      ['eyJhbGciOiJFZERTQSJ9', '.eyJzdWIiOiIxMjM0NTYifQ.', 'c'.repeat(40)],
      ['AKIA', 'Q'.repeat(16)],
      ['ghp_', 'd'.repeat(36)],
      ['npm_', 'e'.repeat(36)],
      ['PRIVATE_KEY = "0x', 'f'.repeat(64), '"'],
    ].map((parts) => parts.join(''))
    const forms = Object.values(FORMS)
    expect(secrets).to.have.length(forms.length)
    for (const [index, secret] of secrets.entries()) expect(secret).to.match(forms[index] ?? /^$/)
  })
})

describe('what is logged of an error of the database', () => {
  const canary = ['whsec', 'CANARY'.repeat(8)].join('_')

  let database: Database

  before(async () => {
    database = await emptyDatabase()
    await makeVault(database.db)
  })

  after(() => database.close())

  /** Each puts the canary into the parameters of a statement that fails. */
  const failures: Record<string, Failure> = {
    'a constraint that is violated': {
      code: '23514',
      work: (db) => sql`insert into vault (secret, size) values (${canary}, -1)`.execute(db),
    },
    'a key that is there already': {
      code: '23505',
      work: async (db) => {
        const insert = () => sql`insert into vault (secret) values (${canary})`.execute(db)
        await insert()
        await insert()
      },
    },
    'a value that is none of its type': {
      code: '22P02',
      work: (db) => sql`select ${canary}::text::integer`.execute(db),
    },
    'a full disk': {
      code: '53100',
      work: (db) => sql`insert into vault (secret, is_full) values (${canary}, true)`.execute(db),
    },
    'a statement that is canceled': {
      code: '57014',
      work: (db) => sql`insert into vault (secret, is_late) values (${canary}, true)`.execute(db),
    },
    ...(process.env['DATABASE_URL'] === undefined ? {} : failuresOfServer(canary)),
  }

  for (const [what, { code, work }] of Object.entries(failures)) {
    it(`is its code and its place, and no parameter, for ${what}`, async () => {
      const error = await work(database.db).then(
        () => undefined,
        (failure: unknown) => failure,
      )
      expect(error).to.be.an.instanceOf(Error)
      expect(error).to.include({ code })
      const text = logged(error as Error)
      expect(text.match(new RegExp(code, 'g'))?.length).to.be.greaterThan(8)
      expect(text).not.to.include(canary).and.not.to.include('CANARY')
    })
  }
})

type Failure = { code: string; work: (db: Db) => Promise<unknown> }

/** What no trigger raises: the server itself runs out of time, of room and of its limits. */
function failuresOfServer(canary: string): Record<string, Failure> {
  // Then the server quotes the parameters of whatever fails, which any operator may have set.
  const quoting = (settings: string, query: (db: Db) => Promise<unknown>) => (db: Db) =>
    db.transaction().execute(async (transaction) => {
      const all = `log_parameter_max_length_on_error = -1; ${settings}`
      for (const one of all.split('; ')) await sql.raw(`set local ${one}`).execute(transaction)
      await query(transaction)
    })
  return {
    'a statement that takes too long': {
      code: '57014',
      work: quoting('statement_timeout = 100', (db) =>
        sql`select ${canary}::text, pg_sleep(60)`.execute(db),
      ),
    },
    'more room for sorting than there may be': {
      code: '53400',
      work: quoting("work_mem = '64kB'; temp_file_limit = '64kB'", (db) =>
        sql`select md5(n::text) || ${canary}::text as long from generate_series(1, 50000) as n
          order by long`.execute(db),
      ),
    },
    // The server quotes the statement in which a block has failed.
    'a disk that has no room': {
      code: '53100',
      work: (db) =>
        sql.raw(`do $$ begin copy (select '${canary}') to '/dev/full'; end $$`).execute(db),
    },
  }
}

/** Everything that a program may do with an error to log it. */
function logged(error: Error): string {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const logger = createLogger({ level: 'info', destination })
  const outer = new Error('a request failed', {
    cause: new Error('a step failed', { cause: error }),
  })
  const unavailable = new DatabaseUnavailableError(error)
  const both = new AggregateError([new Error('harmless'), error], 'two failed')
  logger.error(error)
  logger.error({ err: error })
  logger.error({ err: error }, error.message)
  logger.error({ err: outer }, 'internal_error')
  logger.error(outer)
  logger.error({ err: both }, 'both failed')
  logger.error({ err: unavailable }, unavailable.message)
  logger.error({ details: unavailable.details, reason: messageOf(unavailable) }, 'a query failed')
  logger.error({ failures: [error], reason: messageOf(error) }, 'some failed')
  logger.child({ route: '/v1' }).warn({ err: error }, 'a pass failed')
  logger.child({ err: error }).warn('a pass failed')
  return lines.join('')
}

async function makeVault(db: Db): Promise<void> {
  await sql`
    create table vault (secret text primary key, size integer check (size > 0),
      is_full boolean, is_late boolean)`.execute(db)
  await sql`
    create function fail() returns trigger language plpgsql as $$
    begin
      if new.is_full then
        raise exception 'could not extend file for %', new.secret
          using errcode = 'disk_full', detail = new.secret, hint = new.secret;
      elsif new.is_late then
        raise exception 'canceled at %', new.secret using errcode = 'query_canceled';
      end if;
      return new;
    end $$`.execute(db)
  await sql`
    create trigger failing before insert on vault for each row execute function fail()`.execute(db)
}
