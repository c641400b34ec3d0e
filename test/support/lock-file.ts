import { readFileSync } from 'node:fs'

export type Locked = {
  version?: string
  integrity?: string
  hasInstallScript?: boolean
  optionalDependencies?: Record<string, string>
}

/** What package-lock.json names, by its path in node_modules, without the package itself. */
export function readLock(): Array<[path: string, Locked]> {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, Locked>
  }
  return Object.entries(packages).filter(([path]) => path !== '')
}

/** Those whose bytes anybody could change on the way here. */
export function withoutDigest(lock: ReadonlyArray<[string, Locked]>): string[] {
  return lock.filter(([, { integrity }]) => !isDigest(integrity)).map(([path]) => path)
}

/** SHA-512 in base64: 86 digits and their padding. */
function isDigest(integrity: string | undefined): boolean {
  return /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '')
}
