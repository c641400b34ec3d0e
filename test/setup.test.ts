import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

import { expect } from 'chai'

import { cpuTimeOfNode } from './engines/bench/cpu.ts'
import { temporaryFolder } from './fixtures/folder.ts'

describe('the setup', () => {
  it('takes at most three times what node takes to start, when all is installed', () => {
    const { status, stderr, stdout } = runSetup(resolve('.'))
    expect({ status, output: `${stdout}${stderr}` }).to.deep.equal({ status: 0, output: '' })
    // Other programs slow both down alike while they take turns. The best of ten is what each takes
    // by itself.
    const [setup, node]: number[][] = [[], []]
    for (let time = 0; time < 10; time++) {
      setup!.push(cpuTimeOfNode('scripts/setup.mjs'))
      node!.push(cpuTimeOfNode('--eval', '0'))
    }
    expect(Math.min(...setup!)).to.be.below(3 * Math.min(...node!))
  })

  describe('in a clone with nothing installed', () => {
    let folder: ReturnType<typeof temporaryFolder>

    beforeEach(() => {
      folder = temporaryFolder()
      mkdirSync(join(folder.path, 'scripts'))
      cpSync('scripts/setup.mjs', join(folder.path, 'scripts/setup.mjs'))
      const manifest = { name: 'clone', version: '1.0.0', dependencies: { absent: '1.0.0' } }
      writeFileSync(join(folder.path, 'package.json'), JSON.stringify(manifest))
      const packages = {
        '': manifest,
        'node_modules/absent': { version: '1.0.0', integrity: 'sha512-AAAA' },
      }
      const lock = { name: 'clone', version: '1.0.0', lockfileVersion: 3, packages }
      writeFileSync(join(folder.path, 'package-lock.json'), JSON.stringify(lock))
    })

    afterEach(() => folder.remove())

    it('explains a failed install in one line and keeps its output', () => {
      const { status, stderr } = runSetup(folder.path)
      const [last] = stderr.trim().split('\n').slice(-1)
      expect(status).to.equal(2)
      expect(last).to.match(/^The install failed: .*npm-install\.log.*try again\.$/)
      expect(existsSync(join(folder.path, 'npm-install.log'))).to.equal(true)
      expect(existsSync(join(folder.path, '.setup-in-progress'))).to.equal(false)
    })

    it('installs a package that npm lists as installed and that is not there', () => {
      const bin = join(folder.path, 'node_modules/.bin')
      mkdirSync(bin, { recursive: true })
      writeFileSync(join(bin, 'node'), '')
      const listed = { packages: { 'node_modules/absent': { version: '1.0.0' } } }
      const list = join(folder.path, 'node_modules/.package-lock.json')
      writeFileSync(list, JSON.stringify(listed))
      expect(runSetup(folder.path).stderr).to.include('The install failed')
      // npm removed what was there before it failed.
      mkdirSync(join(folder.path, 'node_modules/absent'), { recursive: true })
      mkdirSync(bin, { recursive: true })
      writeFileSync(join(bin, 'node'), '')
      writeFileSync(list, JSON.stringify(listed))
      expect(runSetup(folder.path)).to.include({ status: 0, stderr: '' })
    })

    it('installs the binary that is made for this machine, and leaves out that of another', () => {
      const bin = join(folder.path, 'node_modules/.bin')
      const binary = { version: '1.0.0', optional: true, cpu: [process.arch] }
      const runFor = (os: string) => {
        mkdirSync(bin, { recursive: true })
        writeFileSync(join(bin, 'node'), '')
        writeFileSync(join(folder.path, 'node_modules/.package-lock.json'), '{"packages":{}}')
        const packages = { 'node_modules/binary': { ...binary, os: [os] } }
        writeFileSync(join(folder.path, 'package-lock.json'), JSON.stringify({ packages }))
        return runSetup(folder.path, ['--check']).status
      }
      expect([runFor('other'), runFor(process.platform)]).to.deep.equal([0, 2])
    })

    it('installs nothing when it is only asked, as mocha does before the tests', () => {
      const { status, stderr } = runSetup(folder.path, ['--check'])
      expect({ status, stderr }).to.deep.equal({
        status: 2,
        stderr: 'node_modules does not fit package-lock.json. Install what it wants: npm ci\n',
      })
      cpSync('.mocharc.cjs', join(folder.path, '.mocharc.cjs'))
      const mocha = resolve('node_modules/mocha/bin/mocha.js')
      const asked = spawnSync(process.execPath, [mocha], { cwd: folder.path, encoding: 'utf8' })
      expect({ status: asked.status, stderr: asked.stderr }).to.deep.equal({ status, stderr })
      expect(existsSync(join(folder.path, 'npm-install.log'))).to.equal(false)
    })

    it('takes the turn of an install that was killed', () => {
      const turn = join(folder.path, '.setup-in-progress')
      mkdirSync(turn)
      utimesSync(turn, new Date(0), new Date(0))
      expect(runSetup(folder.path).stderr).to.include('The install failed')
    })

    it('brings a newer Node to an old one, whatever an install that was ended has left', () => {
      mkdirSync(join(folder.path, 'node_modules/node'), { recursive: true })
      const left = JSON.stringify({ name: 'node', version: '24.0.0', bin: { node: 'bin/node' } })
      writeFileSync(join(folder.path, 'node_modules/node/package.json'), left)
      // Brings a Node that names itself, and installs on the one that it finds.
      const npm = [
        '#!/bin/sh',
        'if [ "$1" = ci ]; then node; exit 1; fi',
        'mkdir -p node_modules/.bin && cd node_modules/.bin',
        `printf '#!/bin/sh\\necho %s %s' "$*" > node && chmod +x node`,
      ]
      mkdirSync(join(folder.path, 'programs'))
      writeFileSync(join(folder.path, 'programs/npm'), npm.join('\n'), { mode: 0o755 })
      const old = 'Object.defineProperty(process,"versions",{value:{node:"20.19.0"}})'
      const { status, stderr } = runSetup(folder.path, [], {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(old)}`,
        PATH: `${join(folder.path, 'programs')}${delimiter}${process.env['PATH']}`,
      })
      expect(status, stderr).to.equal(2)
      const log = readFileSync(join(folder.path, 'npm-install.log'), 'utf8')
      expect(log).to.match(/^install --no-save node@24 /)
    })

    it('says that the lock file is damaged', () => {
      writeFileSync(join(folder.path, 'package-lock.json'), '{"packages":')
      const { status, stderr } = runSetup(folder.path)
      expect(status).to.equal(2)
      expect(stderr).to.include('git checkout package-lock.json')
    })
  })
})

/** No registry answers here, and npm does not try again. */
function runSetup(folder: string, args: readonly string[] = [], env = {}) {
  return spawnSync(process.execPath, [join(folder, 'scripts/setup.mjs'), ...args], {
    encoding: 'utf8',
    env: {
      ...process.env,
      npm_config_registry: 'http://127.0.0.1:1',
      npm_config_fetch_retries: '0',
      npm_config_cache: join(folder, 'cache'),
      ...env,
    },
  })
}
