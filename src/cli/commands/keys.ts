import { randomBytes } from 'node:crypto'

import { Command, Option } from 'commander'

import { systemClock } from '../../base/clock.ts'
import { BaseError } from '../../base/errors.ts'
import { mayUse, type Dialect, type Scope } from '../../domain/access.ts'
import { createApiKey } from '../../domain/api-keys.ts'
import {
  insertApiKey,
  listApiKeys,
  revokeApiKey,
  type ApiKey,
} from '../../store/access/api-keys.ts'
import { rotateSigningKey } from '../../store/access/signing-keys.ts'
import type { User } from '../../store/access/users.ts'
import {
  formatScopes,
  pageOptions,
  parseId,
  requireUser,
  scopesOption,
  withAccess,
} from '../access.ts'
import { time } from '../providers.ts'
import { createOutput, formatPairs, formatTable, formatTime } from '../output.ts'

export function keysCommand(): Command {
  return new Command('keys')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand())
    .addCommand(rotateSigningCommand())
    .addHelpText('after', `\nExamples:\n${EXAMPLES}`)
}

const EXAMPLES = `  $ quittance keys create --user alice --name laptop
  $ quittance keys create --user alice --name report --scopes transactions:read
  $ quittance keys create --user alice --name sdk --dialect nested   for @circle-fin/circle-sdk
  $ quittance keys create --user alice --name audit --expires 2027-01-01
  $ quittance keys list --user alice
  $ quittance keys revoke 17
  $ quittance keys rotate-signing                 tokens stay valid until they expire`

type JsonOption = { json?: boolean }

type CreateOptions = JsonOption & {
  user: string
  name: string
  scopes?: Scope[]
  dialect: Dialect
  expires?: Date
}

function createCommand(): Command {
  return new Command('create')
    .description('Create an API key for a user, and show it once')
    .requiredOption('--user <username>', 'the user of the key')
    .requiredOption('--name <name>', 'a name to recognise it, 1 to 100 characters')
    .addOption(scopesOption('its scopes, separated by commas (default: those of the user)'))
    .addOption(
      new Option('--dialect <dialect>', 'how Group A writes amounts for it')
        .choices(['flat', 'nested'])
        .default('flat'),
    )
    .option('--expires <time>', 'from when on it is refused (default: it does not expire)', time)
    .option('--json', 'print the answer as JSON')
    .action(async (options: CreateOptions) => {
      const output = createOutput(options)
      if (options.name.length < 1 || options.name.length > 100) throw new BadKeyNameError()
      const { expires: expiresAt } = options
      if (expiresAt !== undefined && expiresAt <= systemClock.now()) throw new PastError(expiresAt)
      const { key, text } = await withAccess(async (db, { environment }) => {
        const user = await requireUser(db, options.user)
        const scopes = options.scopes ?? user.scopes
        requireAllowed(user, scopes)
        const { text, sha256, shown } = createApiKey({ environment, randomBytes })
        const { name, dialect } = options
        const key = { userId: user.id, name, sha256, shown, scopes, dialect, expiresAt }
        return { text, key: await insertApiKey(db, key) }
      })
      output.result({ ...key, key: text })
      output.line(`Created key ${key.id} for ${key.username}, ${formatScopes(key.scopes)}:`)
      output.line()
      output.line(`  ${text}`)
      output.line()
      output.line('It is shown only now; the database keeps its hash. Send it as X-API-Key.')
    })
}

function listCommand(): Command {
  const command = new Command('list')
    .description('List the keys, oldest first')
    .option('--user <username>', 'only the keys of this user')
  for (const option of pageOptions()) command.addOption(option)
  return command
    .option('--json', 'print the answer as JSON')
    .action(async (options: JsonOption & { user?: string; limit: number; after: number }) => {
      const output = createOutput(options)
      const keys = await withAccess(async (db) => {
        const user = options.user === undefined ? undefined : await requireUser(db, options.user)
        return listApiKeys(db, {
          userId: user?.id,
          afterId: options.after,
          limit: options.limit,
        })
      })
      output.result({ keys })
      if (keys.length === 0) {
        output.line('There are no keys. Create one: quittance keys create --user NAME --name WHAT')
        return
      }
      const headings = [
        'id',
        'key',
        'user',
        'name',
        'state',
        'created',
        'used',
        'dialect',
        'scopes',
      ]
      output.line(formatTable(headings, keys.map(rowOf)))
      if (keys.length === options.limit) {
        output.line(`There may be more: --after ${keys.at(-1)?.id}`)
      }
    })
}

function revokeCommand(): Command {
  return new Command('revoke')
    .description('Revoke an API key for good')
    .argument('<id>', 'from `keys list`', parseId)
    .option('--json', 'print the answer as JSON')
    .action(async (id: number, options: JsonOption) => {
      const output = createOutput(options)
      const { key, isChanged } = await withAccess(async (db) => {
        const revoked = await revokeApiKey(db, id)
        if (revoked) return { key: revoked, isChanged: true }
        const [found] = await listApiKeys(db, { afterId: id - 1, limit: 1 })
        if (found?.id !== id) throw new KeyNotFoundError(id)
        return { key: found, isChanged: false }
      })
      output.result({ ...key, changed: isChanged })
      output.line(
        isChanged
          ? `Revoked ${key.shown} of ${key.username}. Running processes follow within 5 seconds.`
          : `${key.shown} of ${key.username} was revoked already.`,
      )
    })
}

function rotateSigningCommand(): Command {
  return new Command('rotate-signing')
    .description('Sign access tokens with a new key from now on')
    .option('--end-tokens', 'end all tokens issued so far, for example after a leak')
    .option('--json', 'print the answer as JSON')
    .action(async (options: JsonOption & { endTokens?: boolean }) => {
      const output = createOutput(options)
      const endTokens = options.endTokens === true
      const { kid } = await withAccess((db) => rotateSigningKey(db, { endTokens }))
      output.result({ kid, endedTokens: endTokens })
      output.line('Access tokens are signed with a new key within 5 seconds.')
      output.line(formatPairs([['key', kid]]))
      output.line(
        endTokens
          ? 'All tokens issued so far have ended.'
          : 'Tokens issued so far stay valid until they expire, for one hour at most.',
      )
    })
}

/** A key that asks for more than its user may do would get less without an error. */
function requireAllowed(user: User, scopes: readonly Scope[]): void {
  if (user.disabledAt !== null) throw new UserDisabledError(user.username)
  const refused = scopes.filter((scope) => !mayUse(user, scope))
  if (refused.length > 0) throw new ScopeError(user, refused)
  if (scopes.length === 0) throw new ScopeError(user, ['any'])
}

function rowOf(key: ApiKey): string[] {
  return [
    String(key.id),
    key.shown,
    key.username,
    key.name,
    stateOf(key),
    formatTime(key.createdAt),
    key.usedAt ? formatTime(key.usedAt) : 'never',
    key.dialect,
    formatScopes(key.scopes),
  ]
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return 'revoked'
  if (expiresAt === null) return 'valid'
  return `${expiresAt > systemClock.now() ? 'valid until' : 'expired'} ${formatTime(expiresAt)}`
}

class PastError extends BaseError {
  constructor(expiresAt: Date) {
    super(`${formatTime(expiresAt)} has passed. Choose a later time for --expires.`, {
      code: 'expiry_past',
    })
  }
}

class KeyNotFoundError extends BaseError {
  constructor(id: number) {
    super(`There is no key ${id}. See: quittance keys list`, {
      code: 'key_not_found',
      details: { id },
    })
  }
}

class BadKeyNameError extends BaseError {
  constructor() {
    super('The name of a key must have 1 to 100 characters. Choose another one.', {
      code: 'bad_key_name',
    })
  }
}

class UserDisabledError extends BaseError {
  constructor(username: string) {
    super(`${username} is disabled. Run: quittance users enable ${username}`, {
      code: 'user_disabled',
      details: { username },
    })
  }
}

class ScopeError extends BaseError {
  constructor(user: User, refused: readonly string[]) {
    super(
      `${user.username} lacks ${refused.join(', ')}, so a key of this user cannot have them. ` +
        `Choose from: ${user.scopes.join(', ') || 'nothing'}.`,
      { code: 'scope_exceeds_user', details: { refused } },
    )
  }
}
