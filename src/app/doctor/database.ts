import type { Config } from '../../base/config.ts'
import { nameOfDatabase } from '../../base/database-address.ts'
import { findRunning } from '../../base/ready.ts'
import { refuseDefaultSecrets } from '../../store/access/default-secrets.ts'
import { openDatabase, type Database } from '../../store/database/database.ts'
import { findInstallation } from '../../store/database/installation.ts'
import { readSchemaState } from '../../store/database/migrate.ts'
import { readServerFacts } from '../../store/database/server-facts.ts'
import type { FoundChain } from './chain.ts'
import { problemOf, type Report } from './finding.ts'

type Asking = {
  config: Config
  chain: FoundChain | undefined
  signal: AbortSignal
  report: Report
  clock: Report
}

/** A server is asked; the embedded database is left to the program that opens it. */
export async function checkDatabase(asking: Asking): Promise<void> {
  const { config, report, signal } = asking
  const { databaseUrl: url, dataFolder } = config
  if (url === undefined) {
    const running = findRunning(dataFolder)
    const where =
      running === undefined ? 'the program opens it' : `process ${running.pid} has it open`
    report({ status: 'ok', message: `embedded, in ${dataFolder}; ${where}` })
    return
  }
  let database: Database
  try {
    database = await openDatabase({ url, connections: 1, signal: AbortSignal.any([signal]) })
  } catch (error) {
    report(problemOf(error))
    return
  }
  try {
    await checkServer(database, url, asking)
  } catch (error) {
    report(problemOf(error))
  } finally {
    await database.close()
  }
}

async function checkServer(database: Database, url: string, asking: Asking): Promise<void> {
  const { config, report } = asking
  const { db } = database
  const facts = await readServerFacts(db)
  const name = nameOfDatabase(url)
  report(
    facts.major < OLDEST_MAJOR
      ? {
          status: 'problem',
          message: `${name} is PostgreSQL ${facts.major}`,
          remedy: `Use version ${OLDEST_MAJOR} or later.`,
        }
      : { status: 'ok', message: `${name} is PostgreSQL ${facts.major}` },
  )
  if (facts.isStandby) {
    report({
      status: 'problem',
      message: 'the server is a standby, which accepts no writes',
      remedy: 'Name all hosts, with target_session_attrs=read-write.',
    })
    return
  }
  if (config.environment === 'production' && !facts.hasSynchronousStandby) {
    report({
      status: 'warning',
      message: 'no standby is synchronous, so a failover can lose accepted payments',
      remedy: 'Set synchronous_standby_names on the primary.',
    })
  }
  checkServerClock(facts.now, asking.clock)
  const { pending } = await readSchemaState(db)
  if (pending.length > 0) {
    const message = `${pending.length} migrations are pending`
    report({ status: 'problem', message, remedy: 'Run: quittance migrate' })
    return
  }
  report({ status: 'ok', message: 'the schema is that of this version' })
  await checkOwner(database, asking)
}

const OLDEST_MAJOR = 14
const MAX_SKEW_MS = 5_000

/** Leases and idempotency keys are compared by the clocks of all processes. */
function checkServerClock(there: Date, report: Report): void {
  const skewMs = Math.abs(there.getTime() - Date.now())
  report(
    skewMs > MAX_SKEW_MS
      ? {
          status: 'problem',
          message: `the clocks of this machine and of the database differ by ${Math.round(skewMs / 1000)} s`,
          remedy: 'Synchronise both clocks.',
        }
      : { status: 'ok', message: 'the clock agrees with that of the database' },
  )
}

async function checkOwner({ db }: Database, asking: Asking): Promise<void> {
  const { config, chain, report } = asking
  const found = await findInstallation(db)
  if (found === undefined) {
    report({ status: 'ok', message: 'no program has started on this database yet' })
  } else if (found.environment !== config.environment) {
    report({
      status: 'problem',
      message: `the database belongs to ${found.environment}, and the environment is ${config.environment}`,
      remedy: 'Set QUITTANCE_ENVIRONMENT, or use another database.',
    })
  } else if (chain !== undefined && found.chainId !== chain.chainId) {
    report({
      status: 'problem',
      message: `the database belongs to chain ${found.chainId}, and the providers serve ${chain.chainId}`,
      remedy: 'Correct ETH_RPC_URL, or use another database.',
    })
  }
  // The signers have a check of their own.
  const secrets = { ...config, signer: 'checked apart', findWellKnown: () => undefined }
  const chainId = chain?.chainId ?? found?.chainId ?? 1
  await refuseDefaultSecrets(db, { ...secrets, chainId }).catch((error: unknown) =>
    report(problemOf(error)),
  )
}
