/** Ends the sentence "The password …" with why it is refused; undefined when it will do. */
export function problemOfPassword(options: {
  username: string
  password: string
}): string | undefined {
  const characters = Array.from(options.password)
  if (characters.length < PASSWORD_LENGTH.min) {
    return `needs at least ${PASSWORD_LENGTH.min} characters`
  }
  if (characters.length > PASSWORD_LENGTH.max) {
    return `must have at most ${PASSWORD_LENGTH.max} characters`
  }
  if (new Set(characters).size < MIN_DISTINCT) {
    return `needs at least ${MIN_DISTINCT} different characters`
  }
  const username = options.username.toLowerCase()
  if (username.length >= 4 && options.password.toLowerCase().includes(username)) {
    return 'must not contain the username'
  }
  return undefined
}

/** The upper bound keeps one request from hashing without end. */
export const PASSWORD_LENGTH = { min: 12, max: 256 } as const
const MIN_DISTINCT = 5

/** The schema holds usernames to the same form. */
export const USERNAME_FORM = '^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$'
