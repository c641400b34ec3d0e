import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'

import { TransactionBuilder, type Transaction } from 'kysely'

/**
 * Finds what waits for HTTP or for the hash of a password while a transaction of ours is open: what
 * it has locked is then kept from everybody for as long as somebody else likes.
 */
const current = new AsyncLocalStorage<{ isOpen: boolean }>()
const found: string[] = []

/** What was found since it was last asked, each with where it happened. */
export function takeWaitsInTransactions(): string[] {
  return found.splice(0)
}

type Execute = <T>(
  this: TransactionBuilder<unknown>,
  work: (open: Transaction<unknown>) => Promise<T>,
) => Promise<T>

const execute = Reflect.get(TransactionBuilder.prototype, 'execute') as Execute
TransactionBuilder.prototype.execute = async function <T>(
  this: TransactionBuilder<unknown>,
  work: (open: Transaction<unknown>) => Promise<T>,
): Promise<T> {
  // A test may hold a lock for as long as it likes.
  if (!isCalledBy('/src/')) return execute.call(this, work) as Promise<T>
  const transaction = { isOpen: true }
  const watched = (open: Transaction<unknown>): Promise<T> =>
    current.run(transaction, async () => {
      try {
        return await work(open)
      } finally {
        transaction.isOpen = false
      }
    })
  return execute.call(this, watched) as Promise<T>
}

function isCalledBy(folder: string): boolean {
  // Of an error, of this function and of the one above.
  const [, , , caller = ''] = new Error('who calls').stack?.split('\n') ?? []
  return caller.includes(folder)
}

function note(what: string): void {
  if (current.getStore()?.isOpen !== true) return
  const { stack = '' } = new Error(`${what} was awaited while a transaction was open`)
  found.push(stack)
}

subscribe('undici:request:create', () => note('HTTP'))
subscribe('http.client.request.start', () => note('HTTP'))

// Its names are copied when the program first imports it, which is later.
const argon2 = createRequire(import.meta.url)('@node-rs/argon2') as Record<string, unknown>
for (const name of ['hash', 'verify']) {
  const work = argon2[name] as (...all: unknown[]) => unknown
  argon2[name] = (...all: unknown[]) => {
    note('a hash of a password')
    return work(...all)
  }
}
