import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { temporaryFolder } from '../fixtures/folder.ts'
import { blocksOf, createReader, type Reader } from '../fixtures/guides.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'

/** In the order in which the index lists them: the first one starts the server. */
const PAGES = [
  ...readFileSync('docs/README.md', 'utf8').matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm),
]
  .map(([, name = '']) => `docs/${name}`)
  .filter((page) => blocksOf(readFileSync(page, 'utf8')).length > 0)

/** A reader goes through all pages in one folder, beside one server. */
describe('the commands and programs of the documentation', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let reader: Reader

  before(() => {
    folder = temporaryFolder()
    const quick = { QUITTANCE_BLOCK_MS: '100', QUITTANCE_CONFIRMATIONS: '2' }
    reader = createReader(join(folder.path, 'reader'), quick)
    fillDataFolder(join(reader.folder, '.quittance'))
  })
  after(async () => {
    await reader.stop()
    folder.remove()
  })

  it('begin with the page that starts the server', () => {
    expect(PAGES[0]).to.equal('docs/quick-start.md')
    expect(PAGES.length).to.be.greaterThan(7)
  })

  for (const page of PAGES) {
    it(`do what they say in ${page}`, async () => {
      await reader.follow(page)
    })
  }

  it('leave what the pages promise', () => {
    expect(reader.json('transaction.json')).to.include({ status: 'completed' })
    expect(reader.json('minted.json')).to.have.nested.property('data.status', 'complete')
    expect(reader.json('card-now.json')).to.include({ refunded_decimal: '15' })
    expect(reader.json('batch-now.json')).to.include({ status: 'completed' })
    expect(reader.json('report/report.json'))
      .to.have.property('summary')
      .that.includes({ records: 1, matched: 1, breaks: 0 })
    const paid = readFileSync(join(reader.folder, 'payout.result.csv'), 'utf8')
    expect(paid.match(/,completed,/g)).to.have.length(2)
  })
})
