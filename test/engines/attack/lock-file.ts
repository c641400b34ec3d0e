import { readLock, withoutDigest } from '../../fixtures/lock-file.ts'
import { wrongsIn } from './ask.ts'
import type { Attack } from './attack.ts'

/** A package without a digest can be exchanged on its way to whoever installs. */
export const lockFile: Attack = {
  name: 'lock-file',
  about: 'looks for a dependency that is installed without a digest of its bytes',
  async run() {
    const lock = readLock()
    const without = withoutDigest(lock)
    return [
      {
        tried: 'the packages of package-lock.json',
        count: lock.length,
        outcome: `${lock.length - without.length} of ${lock.length} have a digest`,
        wrong: wrongsIn([[without.length > 0, `without a digest: ${without.join(' ')}`]]),
      },
    ]
  },
}
