import { Client } from 'pg'

import { ask, countStatuses, payment, transfer, wrongsIn, type Answer } from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Platform } from './platform.ts'

const CANARY = 'CANARY'.repeat(4)
/** As the server reports a full disk, a constraint, a value and a limit of time. */
const STATES = ['53100', '23514', '22P02', '57014']
/** Each has a secret, or what a reader of the log could use. */
const TABLES = [
  'users',
  'api_keys',
  'webhook_endpoints',
  'webhook_subscriptions',
  'transactions',
  'orders',
  'attempts',
  'transfers',
  'idempotent_requests',
]
/** What must stand in no log and in no answer of a failure, by its form. */
const SECRETS: Readonly<Record<string, RegExp>> = {
  'a secret of a webhook': /whsec_[\w+/]{20}/,
  'a hash of a password': /\$argon2/,
  'a signed transaction': /0x0[12]f8[0-9a-f]{100}|0x0[12]f9[0-9a-f]{100}/,
  'an API key': /sk_sandbox_\w{20}/,
  'what a caller has sent': new RegExp(CANARY),
}

/** Each table fails to be written, and the error of the server carries the whole row. */
export const logCanary: Attack = {
  name: 'log-canary',
  about: 'lets the database fail with the row in its error, and looks for it in the log',
  needsServer: true,
  async run() {
    const platform = await startPlatform({ payers: 1, env: { QUITTANCE_LOG_LEVEL: 'trace' } })
    try {
      return [await fail(platform)]
    } finally {
      await platform.stop()
    }
  },
}

async function fail(platform: Platform): Promise<AttackResult> {
  const client = new Client({ connectionString: platform.databaseUrl })
  await client.connect()
  const answers: Answer[] = []
  try {
    await client.query(`
      create function fail_with_row() returns trigger language plpgsql as $$
      begin
        raise exception 'could not write %', new
          using errcode = tg_argv[0], detail = new::text, hint = new::text;
      end $$`)
    for (const table of TABLES) {
      for (const state of STATES) {
        await client.query(
          `create trigger failing before insert or update on ${table}
           for each row execute function fail_with_row('${state}')`,
        )
        answers.push(...(await askAll(platform, `${table}-${state}`)))
        await client.query(`drop trigger failing on ${table}`)
      }
    }
  } finally {
    await client.end()
  }
  const failures = answers.filter(({ status }) => status >= 500)
  const written = platform.log()
  const told = failures.map(({ text }) => text).join('\n')
  const codes = STATES.filter((state) => written.includes(state))
  const leaks = Object.entries(SECRETS).flatMap(([what, form]) => [
    [form.test(written), `the log has ${what}`] as const,
    [form.test(told), `an answer has ${what}`] as const,
  ])
  return {
    tried: `${TABLES.length} tables that fail with ${STATES.length} codes each`,
    count: answers.length,
    outcome:
      `${countStatuses(answers)}; ${written.split('\n').length} lines of log, ` +
      `with ${codes.length} of ${STATES.length} codes in them`,
    wrong: wrongsIn([
      [failures.length < TABLES.length, `${failures.length} requests failed: nothing was tried`],
      [codes.length < STATES.length, 'the log does not say what failed'],
      ...leaks,
    ]),
  }
}

async function askAll({ url, payers, adminKey }: Platform, name: string): Promise<Answer[]> {
  const payer = payers[0]!
  const secret = `${CANARY}-${name}`.slice(0, 60)
  const scopes = ['transactions:read']
  const user = { username: `${name}-user`, password: `${secret} battery`, scopes }
  return Promise.all([
    ask(url, payment(payer, secret)),
    ask(url, transfer(payer, secret)),
    ask(url, {
      path: '/v1/notifications/subscriptions',
      key: payer.key,
      body: { url: `http://127.0.0.1:1/${secret}` },
    }),
    ask(url, { path: '/api/admin/users', key: adminKey, body: user }),
    ask(url, {
      path: '/api/admin/keys',
      key: adminKey,
      body: { name: secret, user_id: 1, scopes },
    }),
  ])
}
