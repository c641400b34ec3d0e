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
  optional?: boolean
  dev?: boolean
  hasInstallScript?: boolean
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

  it('have a digest each, but for tools of development that other machines run', () => {
    const without = installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
    const others = without.filter(
      ([path, { optional, dev }]) =>
        !(optional && dev && /^node_modules\/@ox(?:lint|lint-tsgolint|c-parser)\//.test(path)),
    )
    expect(others).to.deep.equal([])
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
