import { Command } from 'commander'

import { SCOPES, type Scope } from '../../domain/access.ts'
import { hashPassword } from '../../store/access/passwords.ts'
import {
  disableUser,
  enableUser,
  insertUser,
  listUsers,
  replacePassword,
  type User,
} from '../../store/access/users.ts'
import { formatScopes, pageOptions, requireUser, scopesOption, withAccess } from '../access.ts'
import { createOutput, EXIT, formatPairs, formatTable, formatTime } from '../output.ts'
import { readNewPassword, type NewPassword } from '../password.ts'

export function usersCommand(): Command {
  return new Command('users')
    .addCommand(addCommand())
    .addCommand(listCommand())
    .addCommand(disableCommand())
    .addCommand(enableCommand())
    .addCommand(setPasswordCommand())
    .addHelpText('after', `\nExamples:\n${EXAMPLES}`)
}

const EXAMPLES = `  $ quittance users add alice                                asks for a password
  $ quittance users add billing --generate-password --scopes payments:write,transactions:read
  $ quittance users disable alice                            ends the tokens and stops the keys
  $ quittance keys create --user alice --name laptop         an API key instead of a password`

type JsonOption = { json?: boolean }
type PasswordOptions = JsonOption & { passwordStdin?: boolean; generatePassword?: boolean }

function addCommand(): Command {
  return withPasswordOptions(new Command('add'))
    .description('Add a user who can log in with a password')
    .argument('<username>', 'letters, digits, dots, dashes, underscores or @; in any case')
    .addOption(scopesOption('the scopes of the user, separated by commas (default: all but admin)'))
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', `\nScopes: ${SCOPES.join(', ')}. Writing includes reading.`)
    .action(async (username: string, options: PasswordOptions & { scopes?: Scope[] }) => {
      const output = createOutput(options)
      const chosen = await choosePassword(username, options)
      const user = await withAccess(async (db) =>
        insertUser(db, {
          username,
          passwordHash: await hashPassword(chosen.password),
          scopes: options.scopes ?? SCOPES.filter((scope) => scope !== 'admin'),
        }),
      )
      output.result({ ...describe(user), ...shownOnce(chosen) })
      output.line(`Added ${user.username}.`)
      output.line(
        formatPairs([
          ['id', String(user.id)],
          ['scopes', formatScopes(user.scopes)],
          ...(chosen.isGenerated ? [['password', chosen.password] as const] : []),
        ]),
      )
      if (chosen.isGenerated) output.line('The password is shown only now. Keep it safe.')
    })
}

function listCommand(): Command {
  const command = new Command('list').description('List the users, oldest first')
  for (const option of pageOptions()) command.addOption(option)
  return command
    .option('--json', 'print the answer as JSON')
    .action(async (options: JsonOption & { limit: number; after: number }) => {
      const output = createOutput(options)
      const users = await withAccess((db) =>
        listUsers(db, { afterId: options.after, limit: options.limit }),
      )
      output.result({ users: users.map(describe) })
      if (users.length === 0) {
        output.line('There are no users. Add one: quittance users add NAME')
        return
      }
      const headings = ['id', 'username', 'state', 'added', 'scopes']
      output.line(formatTable(headings, users.map(rowOf)))
      if (users.length === options.limit) {
        output.line(`There may be more: --after ${users.at(-1)?.id}`)
      }
    })
}

function disableCommand(): Command {
  return new Command('disable')
    .description('Disable a user: tokens end for good, and keys stop until the user is enabled')
    .argument('<username>')
    .option('--json', 'print the answer as JSON')
    .action(async (username: string, options: JsonOption) => {
      const { user, isChanged } = await withAccess(async (db) => {
        const changed = await disableUser(db, username)
        return { user: changed ?? (await requireUser(db, username)), isChanged: !!changed }
      })
      report({ user, isChanged, options, done: 'disabled', effect: STOPS_SOON })
    })
}

function enableCommand(): Command {
  return new Command('enable')
    .description('Enable a disabled user; tokens from before stay ended')
    .argument('<username>')
    .option('--json', 'print the answer as JSON')
    .action(async (username: string, options: JsonOption) => {
      const { user, isChanged } = await withAccess(async (db) => {
        const changed = await enableUser(db, username)
        return { user: changed ?? (await requireUser(db, username)), isChanged: !!changed }
      })
      report({ user, isChanged, options, done: 'enabled' })
    })
}

function setPasswordCommand(): Command {
  return withPasswordOptions(new Command('set-password'))
    .description('Replace the password of a user, and end the tokens from before')
    .argument('<username>')
    .option('--json', 'print the answer as JSON')
    .action(async (username: string, options: PasswordOptions) => {
      const output = createOutput(options)
      const chosen = await choosePassword(username, options)
      const user = await withAccess(async (db) => {
        const found = await requireUser(db, username)
        const passwordHash = await hashPassword(chosen.password)
        await replacePassword(db, { userId: found.id, passwordHash })
        return found
      })
      output.result({ ...describe(user), ...shownOnce(chosen) })
      output.line(`${user.username} has a new password. ${STOPS_SOON}`)
      if (chosen.isGenerated) output.line(formatPairs([['password', chosen.password]]))
    })
}

const STOPS_SOON = 'Running processes follow within 5 seconds.'

function withPasswordOptions(command: Command): Command {
  return command
    .option('--password-stdin', 'read the password from standard input')
    .option('--generate-password', 'generate a password and show it once')
}

async function choosePassword(username: string, options: PasswordOptions): Promise<NewPassword> {
  return readNewPassword(
    {
      username,
      fromStdin: options.passwordStdin === true,
      generate: options.generatePassword === true,
    },
    { input: process.stdin, ask: (text) => void process.stderr.write(text) },
  )
}

function report(outcome: {
  user: User
  isChanged: boolean
  options: JsonOption
  done: string
  effect?: string
}): void {
  const { user, isChanged, options, done, effect = '' } = outcome
  const output = createOutput(options)
  output.result({ ...describe(user), changed: isChanged })
  output.line(
    isChanged
      ? `${user.username} is ${done}. ${effect}`.trimEnd()
      : `${user.username} was ${done} already.`,
  )
  process.exitCode = EXIT.holds
}

function describe(user: User) {
  const { id, username, scopes, createdAt, disabledAt, isDemo } = user
  return { id, username, scopes, createdAt, disabledAt, isDemo }
}

function shownOnce(chosen: NewPassword): { password?: string } {
  return chosen.isGenerated ? { password: chosen.password } : {}
}

function rowOf(user: User): string[] {
  const state = user.disabledAt ? 'disabled' : user.isDemo ? 'demo' : 'enabled'
  return [
    String(user.id),
    user.username,
    state,
    formatTime(user.createdAt),
    formatScopes(user.scopes),
  ]
}
