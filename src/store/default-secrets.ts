import type { Config } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import { isDevelopmentChain } from '../domain/chains.ts'
import type { Db } from './database.ts'
import { hasDemoUsers } from './users.ts'

/**
 * Outside the sandbox nothing may stand on a secret that everybody knows, and not even a sandbox
 * may sign by one where others could take what is paid to it. Names all of them.
 */
export async function refuseDefaultSecrets(
  db: Db,
  config: Pick<Config, 'environment' | 'signer' | 'databaseUrl'> & { chainId: number },
): Promise<void> {
  const { environment, signer, databaseUrl, chainId } = config
  const isSandbox = environment === 'sandbox'
  const problems = [
    ...(isSandbox && isDevelopmentChain(chainId) ? [] : problemsOfSigner(signer)),
    ...(isSandbox ? [] : await problemsOfDatabase(db, databaseUrl)),
  ]
  if (problems.length > 0) throw new DefaultSecretsError({ environment, chainId }, problems)
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

async function problemsOfDatabase(db: Db, url: string | undefined): Promise<string[]> {
  // Search parameters decode a stray percent sign too, which decodeURIComponent throws at.
  const written = url === undefined ? '' : new URL(url).password
  const password = new URLSearchParams(`password=${written}`).get('password') ?? ''
  const isDefault = DEFAULT_PASSWORDS.includes(password.toLowerCase())
  return [
    ...(isDefault
      ? ['The password in DATABASE_URL is a default that everybody tries first. Change it.']
      : []),
    ...((await hasDemoUsers(db))
      ? ['The database has the demo accounts of a sandbox. Use another database.']
      : []),
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
