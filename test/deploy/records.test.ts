import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { expect } from 'chai'

import { createDeploymentRecords, type DeploymentEntry } from '../../src/deploy/records.ts'
import { account, recordsFolder } from '../fixtures/chain/deployment.ts'
import { expectFailure } from '../fixtures/errors.ts'

const ENTRY: DeploymentEntry = {
  action: 'create',
  name: 'Settlement',
  address: account(1).address,
  account: account(0).address,
  at: '2026-01-01T00:00:00.000Z',
}

describe('the record of deployments', () => {
  let kept: Awaited<ReturnType<typeof recordsFolder>>
  beforeEach(async () => {
    kept = await recordsFolder()
  })
  afterEach(() => kept.remove())

  it('is empty before the first, and no file is made by reading it', async () => {
    expect(await kept.records.read(1)).to.deep.equal({ version: 1, chainId: 1, entries: [] })
    expect(await readdir(kept.folder)).to.deep.equal([])
  })

  it('keeps what was done in order, one file per chain', async () => {
    const records = createDeploymentRecords(path.join(kept.folder, 'made', 'on', 'demand'))
    await records.append(1, ENTRY)
    await records.append(1, { ...ENTRY, name: 'ReferenceDollar' })
    await records.append(2, ENTRY)
    const { entries } = await records.read(1)
    expect(entries.map(({ name }) => name)).to.deep.equal(['Settlement', 'ReferenceDollar'])
    expect((await records.read(2)).entries).to.deep.equal([ENTRY])
    const files = await readdir(path.join(kept.folder, 'made', 'on', 'demand'))
    expect(files.toSorted()).to.deep.equal(['1.json', '2.json'])
  })

  it('is not overwritten when it cannot be read', async () => {
    const file = path.join(kept.folder, '1.json')
    const spoilt = ['', '{', 'null', '{"version":2,"chainId":1,"entries":[]}', '{"version":1}']
    for (const text of spoilt) {
      await writeFile(file, text)
      await expectFailure(() => kept.records.append(1, ENTRY), 'deployment_record_invalid')
      expect(await readFile(file, 'utf8')).to.equal(text)
    }
  })

  it('says so when the folder cannot be read at all', async () => {
    await mkdir(path.join(kept.folder, '1.json'))
    const outcome = await kept.records.read(1).catch((error: NodeJS.ErrnoException) => error.code)
    expect(outcome).to.equal('EISDIR')
  })
})
