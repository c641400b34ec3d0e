import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'

import { expect } from 'chai'

import { lockFolder } from '../../src/base/lock.ts'
import { birthOf } from '../../src/base/process.ts'
import { failureOf } from '../fixtures/errors.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

describe('lockFolder', () => {
  let folder: ReturnType<typeof temporaryFolder>

  beforeEach(() => (folder = temporaryFolder()))
  afterEach(() => folder.remove())

  it('gives the folder to one and, once released, to the next', async () => {
    const first = await lockFolder(folder.path)
    first.release()
    const second = await lockFolder(folder.path)
    second.release()
    expect(readdirSync(folder.path)).to.deep.equal([])
  })

  it('refuses a folder in use and names the process', async () => {
    const lock = await lockFolder(folder.path)
    const error = await failureOf(() => lockFolder(folder.path))
    expect(error.code).to.equal('folder_in_use')
    expect(error.details).to.include({ pid: process.pid, host: hostname() })
    lock.release()
  })

  it('takes over the lock of a process that is gone', async () => {
    writeLock({ pid: 2 ** 22 + 1, birth: 'x', host: hostname() })
    const lock = await lockFolder(folder.path)
    lock.release()
    expect(existsSync(join(folder.path, 'lock.json'))).to.equal(false)
  })

  it('takes over the lock of an earlier life of a process id that runs again', async () => {
    writeLock({ pid: process.ppid, birth: 'another boot/1', host: hostname() })
    const lock = await lockFolder(folder.path)
    lock.release()
  })

  it('keeps off the lock of a living process of another program', async () => {
    writeLock({ pid: process.ppid, birth: birthOf(process.ppid), host: hostname() })
    expect((await failureOf(() => lockFolder(folder.path))).code).to.equal('folder_in_use')
  })

  it('keeps off the lock of another host, which it cannot see', async () => {
    writeLock({ pid: 1, birth: 'x', host: 'elsewhere' })
    expect((await failureOf(() => lockFolder(folder.path))).code).to.equal('folder_in_use')
  })

  it('takes over a lock that was cut off while it was written', async () => {
    writeFileSync(join(folder.path, 'lock.json'), '{"pid":')
    const lock = await lockFolder(folder.path)
    lock.release()
  })

  it('does not release what another has taken over', async () => {
    const lock = await lockFolder(folder.path)
    writeLock({ pid: 1, birth: 'x', host: 'elsewhere' })
    lock.release()
    expect(existsSync(join(folder.path, 'lock.json'))).to.equal(true)
  })

  it('lets one of many win that find a stale lock at the same time', async () => {
    writeLock({ pid: 2 ** 22 + 1, birth: 'x', host: hostname() })
    const results = await Promise.all(Array.from({ length: 8 }, () => tryInProcess(folder.path)))
    expect(results.filter((result) => result === 'won')).to.have.length(1)
    expect(results.filter((result) => result === 'folder_in_use')).to.have.length(7)
  })

  it('says that a folder cannot be made', async () => {
    writeFileSync(join(folder.path, 'file'), '')
    const error = await failureOf(() => lockFolder(join(folder.path, 'file', 'data')))
    expect(error.code).to.equal('folder_not_writable')
  })

  it('says so, and does not try for ever, where the system makes no folder', async () => {
    const error = await failureOf(() => lockFolder('/proc/none/data'))
    expect(error.code).to.equal('folder_not_writable')
  })

  it('makes a folder below folders that are not there yet', async () => {
    const deep = join(folder.path, 'a/b/c')
    const lock = await lockFolder(deep)
    lock.release()
    expect(existsSync(deep)).to.equal(true)
    expect(statSync(join(folder.path, 'a')).mode & 0o777).to.equal(0o700)
  })

  function writeLock(owner: { pid: number; birth: string; host: string }): void {
    const text = JSON.stringify({ ...owner, since: new Date().toISOString() })
    writeFileSync(join(folder.path, 'lock.json'), text)
  }
})

/** Takes the lock in a process of its own and holds it until all others have tried. */
function tryInProcess(folder: string): Promise<string> {
  const script = `
    const { lockFolder } = await import(${JSON.stringify(resolve('src/base/lock.ts'))})
    try {
      await lockFolder(${JSON.stringify(folder)})
      console.log('won')
      setTimeout(() => {}, 3000)
    } catch (error) {
      console.log(error.code)
    }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return new Promise((done) => child.once('close', () => done(output.trim())))
}
