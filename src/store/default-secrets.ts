import type { Config } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import type { Db } from './database.ts'
import { hasDemoUsers } from './users.ts'

/** Outside the sandbox nothing may stand on a secret that everybody knows. Names all of them. */
export async function refuseDefaultSecrets(
  db: Db,
  config: Pick<Config, 'environment' | 'signer' | 'databaseUrl'>,
): Promise<void> {
  if (config.environment === 'sandbox') return
  const problems = [
    ...problemsOfSigner(config.signer),
    ...problemsOfDatabase(config.databaseUrl),
    ...((await hasDemoUsers(db))
      ? ['The database has the demo accounts of a sandbox. Use another database.']
      : []),
  ]
  if (problems.length > 0) throw new DefaultSecretsError(config.environment, problems)
}

function problemsOfSigner(signer: string | undefined): string[] {
  if (signer === undefined) {
    return ['QUITTANCE_SIGNER is not set, so the well-known development seed would sign.']
  }
  const text = signer.toLowerCase().replaceAll(/\s+/g, ' ')
  return WELL_KNOWN_SIGNERS.some((known) => text.includes(known))
    ? ['QUITTANCE_SIGNER is a seed or key that every development tool knows. Use your own.']
    : []
}

/** The seed of anvil and Hardhat, and the keys of its first accounts. */
const WELL_KNOWN_SIGNERS = [
  'test test test test test test test test test test test junk',
  'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
]

function problemsOfDatabase(url: string | undefined): string[] {
  // Search parameters decode a stray percent sign too, which decodeURIComponent throws at.
  const written = url === undefined ? '' : new URL(url).password
  const password = new URLSearchParams(`password=${written}`).get('password') ?? ''
  return DEFAULT_PASSWORDS.includes(password.toLowerCase())
    ? ['The password in DATABASE_URL is a default that everybody tries first. Change it.']
    : []
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
  constructor(environment: string, problems: string[]) {
    super(
      [`The ${environment} environment does not start on default secrets.`, ...problems].join(' '),
      {
        code: 'default_secrets',
        details: { problems },
      },
    )
  }
}
