import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

const folder = 'src/api'
const readme = readFileSync(join(folder, 'README.md'), 'utf8')

describe('the page on security', () => {
  it('has every risk of the list, each with tests', () => {
    for (let number = 1; number <= 10; number++) {
      const [row = ''] = new RegExp(`^\\| API${number} .*$`, 'm').exec(readme) ?? []
      expect(row, `API${number}`).to.include('.test.ts)')
    }
  })

  for (const [, title = '', path = ''] of readme.matchAll(/\[([^\]]+)\]\(([^)]+\.test\.ts)\)/g)) {
    it(`names a test that there is: ${title}`, () => {
      const file = join(folder, path)
      expect(existsSync(file), file).to.equal(true)
      expect(readFileSync(file, 'utf8')).to.include(`it('${title}'`)
    })
  }
})
