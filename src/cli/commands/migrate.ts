import { Command } from 'commander'

import { withDatabase } from '../../app/database.ts'
import { parseConfig } from '../../base/config.ts'
import { MIGRATION_PATIENCE } from '../../store/database/connections.ts'
import { migrate, readSchemaState } from '../../store/database/migrate.ts'
import { createOutput, EXIT } from '../output.ts'

export function migrateCommand(): Command {
  return new Command('migrate')
    .option(
      '--dry-run',
      'show the pending migrations and change nothing; exit code 1 if there are any',
    )
    .option('--json', 'print the answer as JSON')
    .action(async (options: { dryRun?: boolean; json?: boolean }) => {
      process.exitCode = await run(options)
    })
}

async function run(options: { dryRun?: boolean; json?: boolean }): Promise<number> {
  const output = createOutput(options)
  const config = parseConfig(process.env)
  return withDatabase({ config, patience: MIGRATION_PATIENCE }, async ({ db }) => {
    if (options.dryRun) {
      const state = await readSchemaState(db)
      output.result(state)
      output.line(describe('Pending', state.pending))
      return state.pending.length === 0 ? EXIT.holds : EXIT.disagrees
    }
    const applied = await migrate(db)
    output.result({ applied })
    output.line(describe('Applied', applied))
    return EXIT.holds
  })
}

function describe(what: string, names: string[]): string {
  return names.length === 0 ? 'The database is up to date.' : `${what}: ${names.join(', ')}`
}
