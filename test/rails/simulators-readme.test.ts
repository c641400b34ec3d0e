import { readFileSync } from 'node:fs'

import { expect } from 'chai'

const FOLDER = 'src/rails/simulators'

/** What the programs look for in a request to choose an outcome. */
const VALUES = [
  /\b(pm_card_\w+)/g,
  /account: '(\d+)'/g,
  /word: \/\\b(\w+)\\b/g,
  /\bhas\(\w+, '([\w-]+)'\)/g,
]

describe('the README of the simulators', () => {
  const text = readFileSync(`${FOLDER}/README.md`, 'utf8')

  for (const [party, least] of Object.entries({ bank: 10, card: 8, wallet: 4 })) {
    it(`names every value by which the ${party} chooses`, () => {
      const source = readFileSync(`${FOLDER}/${party}.ts`, 'utf8')
      const found = VALUES.flatMap((one) => [...source.matchAll(one)].map(([, value]) => value))
      const values = [...new Set(found)]
      expect(values).to.have.length.at.least(least)
      const section = text.split('\n## ').find((one) => one.toLowerCase().startsWith(party)) ?? ''
      expect(values.filter((value) => !section.includes(`\`${value}\``))).to.deep.equal([])
    })
  }
})
