import type { Environment } from '../../src/base/config.ts'
import type { Clock } from '../../src/base/clock.ts'
import { createTokens } from '../../src/api/tokens.ts'
import type { Db } from '../../src/store/database.ts'
import { ensureSigningKey } from '../../src/store/signing-keys.ts'
import type { User } from '../../src/store/users.ts'
import { makeKey, makeUser } from './access.ts'

/** One account of one environment, with one of its credentials. */
export type Visitor = {
  name: string
  environment: Environment
  user: User
  headers: Record<string, string>
}

/**
 * Two accounts in two environments, each with every kind of credential. The worst is assumed: keys
 * of both environments stand in this database, and one key signs the tokens of both, so that
 * nothing but the check of the environment keeps the others out.
 */
export async function makeVisitors(
  db: Db,
  clock: Clock,
): Promise<{ owner: User; other: User; visitors: Visitor[] }> {
  await ensureSigningKey(db)
  const owner = await makeUser(db, { username: 'owner' })
  const other = await makeUser(db, { username: 'other' })
  const visitors: Visitor[] = []
  for (const environment of ['sandbox', 'production'] as const) {
    const tokens = createTokens({ db, clock, environment })
    for (const user of [owner, other]) {
      const { text } = await makeKey(db, { user, environment })
      const token = await tokens.issue({ userId: user.id, generation: user.tokenGeneration })
      const credentials: Record<string, Record<string, string>> = {
        'X-API-Key': { 'x-api-key': text },
        'a key as Bearer': { authorization: `Bearer ${text}` },
        'a token': { authorization: `Bearer ${token}` },
      }
      for (const [kind, headers] of Object.entries(credentials)) {
        const name = `${user.username} of ${environment} with ${kind}`
        visitors.push({ name, environment, user, headers })
      }
    }
  }
  return { owner, other, visitors }
}
