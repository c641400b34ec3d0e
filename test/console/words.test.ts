import { expect } from 'chai'

import { readAddress } from '../../src/console/node.ts'
import {
  compareDecimals,
  formatDuration,
  formatUnits,
  groupDigits,
  shortHash,
} from '../../src/console/parts/format.ts'
import { frameOf, pathOf, pointAt } from '../../src/console/parts/plot-lines.ts'
import { hashOf, readRoute } from '../../src/console/route.ts'

describe('the words of the console', () => {
  it('keep every digit of an amount', () => {
    expect(formatUnits(1n, 18)).to.equal('0.000000000000000001')
    expect(formatUnits(10n ** 31n, 18)).to.equal('10000000000000')
    expect(formatUnits(1_500_000_000_000_000_000n, 18)).to.equal('1.5')
    expect(groupDigits('1234567.000000000000000001')).to.equal(
      '1\u202f234\u202f567.000000000000000001',
    )
    expect(groupDigits('999')).to.equal('999')
  })

  it('tell by how much two amounts differ, to the last digit', () => {
    expect(compareDecimals('9', '10.00')).to.deep.equal({ sign: -1, difference: '1' })
    expect(compareDecimals('10.5', '10')).to.deep.equal({ sign: 1, difference: '0.5' })
    expect(compareDecimals('10.0', '10')).to.deep.equal({ sign: 0, difference: '0' })
    expect(compareDecimals('1', '0.999999999999999999')).to.deep.equal({
      sign: 1,
      difference: '0.000000000000000001',
    })
  })

  it('tell a time in its two largest units', () => {
    const told = [0, 59, 61, 3600, 3661, 90_061].map(formatDuration)
    expect(told).to.deep.equal(['under 1 s', '59 s', '1 min 1 s', '1 h', '1 h 1 min', '1 d 1 h'])
  })

  it('shorten a hash, and nothing that is short already', () => {
    expect(shortHash(`0x${'ab'.repeat(32)}`)).to.equal('0xababab…ababab')
    expect(shortHash('0xab')).to.equal('0xab')
  })

  it('read an address as it was written, whatever is in it', () => {
    const path = ['transactions', 'TX/1 %?#']
    expect(readRoute(hashOf(path, { status: 'failed', type: '' }))).to.deep.equal({
      path,
      query: { status: 'failed' },
    })
    expect(readRoute('#/%E0%A4%A')).to.deep.equal({ path: ['%E0%A4%A'], query: {} })
    expect(readRoute('')).to.deep.equal({ path: [], query: {} })
  })

  it('let a visitor ask nodes that the browser will reach, and no others', () => {
    expect(readAddress(' https://node.example/key ')).to.equal('https://node.example/key')
    expect(readAddress('http://127.0.0.1:8545')).to.equal('http://127.0.0.1:8545/')
    for (const bad of ['http://node.example', 'javascript:alert(1)', 'ws://localhost', '', 'x']) {
      expect(readAddress(bad)).to.equal(undefined)
    }
  })
})

describe('a plot', () => {
  const line = [
    { at: 0, value: 0 },
    { at: 5, value: 10 },
    { at: 10, value: 10 },
  ]

  it('holds each value until the next one, from the first time to the last', () => {
    const frame = { from: 0, until: 10, most: 10 }
    expect(pathOf(line, { frame, width: 100, height: 20 })).to.equal('M0.0 20.0H50.0V0.0H100.0V0.0')
    expect(frameOf([line])).to.include({ from: 0, until: 10 })
    expect(frameOf([[{ at: 1, value: 0 }]]).most).to.be.above(0)
  })

  it('tells the value that held at a time', () => {
    expect(pointAt(line, 7)?.at).to.equal(5)
    expect(pointAt(line, -1)?.at).to.equal(0)
    expect(pointAt([], 1)).to.equal(undefined)
  })
})
