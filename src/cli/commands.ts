import { Command } from 'commander'

export type CommandEntry = {
  name: string
  /** Its line in the help, which is printed without loading what the command needs. */
  description: string
  load: () => Promise<Command>
}

/** In the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'up',
    description: 'Run everything in one process: database, chain, both groups of endpoints',
    load: async () => (await import('./commands/run.ts')).roleCommand('up'),
  },
  {
    name: 'serve',
    description: 'Answer HTTP requests, on a PostgreSQL and a chain that `work` shares',
    load: async () => (await import('./commands/run.ts')).roleCommand('serve'),
  },
  {
    name: 'work',
    description: 'Pay, follow the chain, deliver webhooks and reconcile',
    load: async () => (await import('./commands/run.ts')).roleCommand('work'),
  },
  {
    name: 'migrate',
    description: 'Bring the database up to the schema of this version',
    load: async () => (await import('./commands/migrate.ts')).migrateCommand(),
  },
  {
    name: 'users',
    description: 'Add, list, disable and enable the users of the API',
    load: async () => (await import('./commands/users.ts')).usersCommand(),
  },
  {
    name: 'keys',
    description: 'Create, list and revoke API keys; rotate the key that signs access tokens',
    load: async () => (await import('./commands/keys.ts')).keysCommand(),
  },
  {
    name: 'limits',
    description: 'List and set limits on outgoing money, for everyone or for one user',
    load: async () => (await import('./commands/limits.ts')).limitsCommand(),
  },
  {
    name: 'subscriptions',
    description: 'List and delete webhook subscriptions; replay a delivery',
    load: async () => (await import('./commands/subscriptions.ts')).subscriptionsCommand(),
  },
  {
    name: 'export',
    description: 'Write transactions, postings or fees as CSV or JSON lines, with their balances',
    load: async () => (await import('./commands/export.ts')).exportCommand(),
  },
  {
    name: 'pay',
    description: 'Pay each row of a CSV once',
    load: async () => (await import('./commands/pay.ts')).payCommand(),
  },
  {
    name: 'doctor',
    description: 'Check what a start needs, and say what to correct',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  },
  {
    name: 'status',
    description: 'Say whether it runs, whether each part is well, and what the operator must do',
    load: async () => (await import('./commands/status.ts')).statusCommand(),
  },
  {
    name: 'signers',
    description: 'Show the addresses that sign, what each has and what it needs',
    load: async () => (await import('./commands/signers.ts')).signersCommand(),
  },
  {
    name: 'deploy',
    description: 'Put the contracts on a chain, at the same address on every chain',
    load: async () => (await import('./commands/deploy.ts')).deployCommand(),
  },
  {
    name: 'verify',
    description: 'Check whether a hash, a mint or a redeem is as recorded',
    load: async () => (await import('./commands/verify.ts')).verifyCommand(),
  },
  {
    name: 'prove',
    description: 'Write the file that proves one payment to anyone',
    load: async () => (await import('./commands/proof.ts')).proveCommand(),
  },
  {
    name: 'check',
    description: 'Check whether a quittance proves its payment',
    load: async () => (await import('./commands/proof.ts')).checkCommand(),
  },
  {
    name: 'reconcile',
    description: 'Compare records with the chain, and report each disagreement',
    load: async () => (await import('./commands/reconcile.ts')).reconcileCommand(),
  },
]

/**
 * Every command, of which only the one that was called is whole: loading all of them takes longer
 * than most of them run. The others are their names, for the help and for suggestions.
 */
export async function commandsFor(args: readonly string[]): Promise<Command[]> {
  const words = args.filter((arg) => !arg.startsWith('-'))
  const called = words[0] === 'help' ? words[1] : words[0]
  return Promise.all(
    COMMANDS.map(async ({ name, description, load }) => {
      const command = name === called ? await load() : new Command(name)
      return command.description(description)
    }),
  )
}
