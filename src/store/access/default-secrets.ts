import type { Config } from '../../base/config.ts'
import { parseDatabaseAddress } from '../../base/database-address.ts'
import { BaseError } from '../../base/errors.ts'
import { isDevelopmentChain } from '../../domain/chains.ts'
import type { Db } from '../database/database.ts'
import { hasDemoUsers } from './users.ts'

type SignerFacts = Pick<Config, 'signer'> & {
  /** Says which of the opened signers has a key that everybody knows. */
  findWellKnown: () => string | undefined
}

/**
 * Throws outside the sandbox if any secret is publicly known. A sandbox must not sign with a
 * publicly known key either, unless its chain is a development chain: others could take what is
 * paid to it. The error lists every problem.
 */
export async function refuseDefaultSecrets(
  db: Db,
  config: Pick<Config, 'environment' | 'databaseUrl' | 'databasePassword'> &
    SignerFacts & { chainId: number },
): Promise<void> {
  const { environment, chainId } = config
  const isSandbox = environment === 'sandbox'
  const problems = [
    ...(isSandbox && isDevelopmentChain(chainId) ? [] : problemsOfSigner(config)),
    ...(isSandbox ? [] : await problemsOfDatabase(db, config)),
  ]
  if (problems.length > 0) throw new DefaultSecretsError({ environment, chainId }, problems)
}

function problemsOfSigner({ signer, findWellKnown }: SignerFacts): string[] {
  if (signer === undefined) {
    return ['QUITTANCE_SIGNER is not set, so the well-known development seed would sign.']
  }
  const found = findWellKnown()
  return found === undefined
    ? []
    : [`QUITTANCE_SIGNER has a known key: ${found}. Everyone can sign with it. Use your own keys.`]
}

async function problemsOfDatabase(db: Db, config: DatabaseSettings): Promise<string[]> {
  const isDefault = passwordsOf(config).some((one) => DEFAULT_PASSWORDS.includes(one.toLowerCase()))
  return [
    ...(isDefault ? ['The password of the database is a well-known default. Change it.'] : []),
    ...((await hasDemoUsers(db))
      ? ['The database has the demo accounts of a sandbox. Use another database.']
      : []),
  ]
}

type DatabaseSettings = Pick<Config, 'databaseUrl' | 'databasePassword'>

/** Those in the URL, or else the driver's own variable. */
function passwordsOf({ databaseUrl, databasePassword }: DatabaseSettings): string[] {
  if (databaseUrl === undefined) return []
  const given = passwordsIn(databaseUrl).filter((password) => password !== '')
  return given.length === 0 && databasePassword !== undefined ? [databasePassword] : given
}

/** The one before the @, and those of `?password=`, which the driver prefers. */
function passwordsIn(url: string): string[] {
  const { password, searchParams } = parseDatabaseAddress(url)?.hosts[0] ?? new URL(url)
  // Search parameters decode a stray percent sign too, which decodeURIComponent throws at.
  return [
    ...new URLSearchParams(`password=${password}`).getAll('password'),
    ...searchParams.getAll('password'),
  ]
}

const DEFAULT_PASSWORDS = [
  'postgres',
  'password',
  'quittance',
  'secret',
  'changeme',
  'admin',
  'root',
  'example',
]

class DefaultSecretsError extends BaseError {
  constructor(
    { environment, chainId }: { environment: string; chainId: number },
    problems: string[],
  ) {
    const sentence = `The ${environment} environment does not start on default secrets`
    super([`${sentence} on chain ${chainId}.`, ...problems].join(' '), {
      code: 'default_secrets',
      details: { problems, chainId },
    })
  }
}
