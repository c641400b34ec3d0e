import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { birthOf } from '../../src/base/process.ts'
import { announceReady, findRunning, readReady, type ReadyFacts } from '../../src/base/ready.ts'
import { failureOf } from '../fixtures/errors.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

describe('ready.json', () => {
  let folder: ReturnType<typeof temporaryFolder>

  beforeEach(() => (folder = temporaryFolder()))
  afterEach(() => folder.remove())

  const mine = { url: 'http://127.0.0.1:1', pid: process.pid } as ReadyFacts
  const found = (facts: object) =>
    writeFileSync(join(folder.path, 'ready.json'), JSON.stringify(facts))

  it('tells of a program while it runs, and goes with it', () => {
    const withdraw = announceReady(folder.path, mine)
    expect(findRunning(folder.path)).to.include(mine)
    withdraw()
    expect(existsSync(join(folder.path, 'ready.json'))).to.equal(false)
  })

  it('of a serve is not overwritten by a work that is started beside it', async () => {
    const serve = { url: 'http://127.0.0.1:2', pid: process.ppid, birth: birthOf(process.ppid) }
    found(serve)
    const error = await failureOf(() => announceReady(folder.path, mine))
    expect(error.code).to.equal('folder_in_use')
    expect(error.message).to.include(`${process.ppid}`).and.include('QUITTANCE_DATA')
    expect(readReady(folder.path)).to.deep.equal(serve)
  })

  it('of a process that is gone is in nobody’s way, whoever has its id now', () => {
    for (const gone of [
      { pid: 2 ** 22 + 1 },
      { pid: process.ppid, birth: 'an earlier one' },
      { pid: process.pid, birth: 'an earlier one' },
    ]) {
      found(gone)
      expect(findRunning(folder.path)).to.equal(undefined)
      announceReady(folder.path, mine)()
    }
  })
})
