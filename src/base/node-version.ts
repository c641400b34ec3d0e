/** As `engines` in package.json says. */
const NEEDED = [22, 18] as const

/** Why nothing of ours runs here, in one sentence; undefined where it does, browsers included. */
export function whyTooOld(version = versionOfNode()): string | undefined {
  if (version === undefined) return undefined
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined
  return `Quittance needs Node ${NEEDED.join('.')} or later, and this is Node ${version}.`
}

function versionOfNode(): string | undefined {
  const { process } = globalThis as { process?: { versions?: { node?: string } } }
  return process?.versions?.node
}
