import { readFileSync } from 'node:fs'

import { expect } from 'chai'

type Manifest = {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  allowScripts: Record<string, boolean>
}
type Locked = {
  version?: string
  integrity?: string
  hasInstallScript?: boolean
  optionalDependencies?: Record<string, string>
}
type Lock = { packages: Record<string, Locked> }

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock
const installed = Object.entries(lock.packages).filter(([path]) => path !== '')

describe('the dependencies', () => {
  it('are pinned, each to one version that the lock has', () => {
    for (const [name, version] of Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
    })) {
      expect(version, name).to.match(/^\d+\.\d+\.\d+$/)
      expect(lock.packages[`node_modules/${name}`]?.version, name).to.equal(version)
    }
  })

  // npm wrote each as the registry has it, except four of anvil: those for macOS, Windows and Linux
  // on arm64 are not in the registry that made this lock, and come from one public lock file. A
  // wrong digest makes the install fail on that machine; it never lets other bytes in.
  it('have a digest each, those of other machines too', () => {
    const without = installed.filter(([, { integrity }]) => !isDigest(integrity))
    expect(without).to.deep.equal([])
  })

  it('have every optional build that they name in the lock', () => {
    const locked = new Set(installed.map(([path]) => path.replace(/^.*node_modules\//, '')))
    const absent = installed
      .flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
      .filter((name) => !locked.has(name))
    expect(absent).to.deep.equal([])
  })

  it('run no script at their install but those that are named', () => {
    const scripted = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(scripted).to.have.members(Object.keys(manifest.allowScripts))
  })

  it('of the program stand in the table of the security page, and no others', () => {
    const page = readFileSync('src/api/README.md', 'utf8').split('## How dependencies are kept')[1]
    const listed = [...(page ?? '').matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
    expect(listed).to.have.members(Object.keys(manifest.dependencies))
    expect(page).to.include(`names ${listed.length} packages`)
  })
})

/** SHA-512 in base64: 86 digits and their padding. */
function isDigest(integrity: string | undefined): boolean {
  return /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '')
}
