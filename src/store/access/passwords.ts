import { hash, verify } from '@node-rs/argon2'

/**
 * Argon2id with the parameters that OWASP names first. The library's default algorithm is Argon2id,
 * and a check in the schema holds every stored hash to it.
 */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 } as const

export async function hashPassword(password: string): Promise<string> {
  return hash(normalize(password), PARAMETERS)
}

/**
 * An unknown user has no hash. The password is then compared with a hash that nothing matches, so
 * that the time does not reveal whether the user exists.
 */
export async function verifyPassword(
  passwordHash: string | undefined,
  password: string,
): Promise<boolean> {
  const matches = await verify(passwordHash ?? DECOY, normalize(password))
  return matches && passwordHash !== undefined
}

/** Of random bytes that were thrown away; made with the parameters above. */
const DECOY =
  '$argon2id$v=19$m=19456,t=2,p=1$C8DT2thV2aNOKNvLLDv96w$ba8pI2vq5mTH2cUsghGyMySBjpzUlam4U9/7MDRri8w'

/** Keyboards write one and the same character in more than one way. */
function normalize(password: string): string {
  return password.normalize('NFKC')
}
