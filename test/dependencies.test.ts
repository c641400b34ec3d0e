import { readFileSync } from 'node:fs'

import { expect } from 'chai'

import { readLock, withoutDigest } from './fixtures/lock-file.ts'

type Manifest = {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  allowScripts: Record<string, boolean>
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const installed = readLock()
const locked = new Map(installed)

describe('the dependencies', () => {
  it('are pinned, each to one version that the lock has', () => {
    for (const [name, version] of Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
    })) {
      expect(version, name).to.match(/^\d+\.\d+\.\d+$/)
      expect(locked.get(`node_modules/${name}`)?.version, name).to.equal(version)
    }
  })

  // npm wrote each as the registry has it, except four of anvil: those for macOS, Windows and Linux
  // on arm64 are not in the registry that made this lock, and come from one public lock file. A
  // wrong digest makes the install fail on that machine; it never lets other bytes in.
  it('have a digest each, those of other machines too', () => {
    expect(withoutDigest(installed)).to.deep.equal([])
  })

  it('have every optional build that they name in the lock', () => {
    const names = new Set(installed.map(([path]) => path.replace(/^.*node_modules\//, '')))
    const absent = installed
      .flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
      .filter((name) => !names.has(name))
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
