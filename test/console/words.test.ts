import { expect } from 'chai'

import { readAddress } from '../../src/console/node.ts'
import {
  compareDecimals,
  formatDecimal,
  formatDuration,
  formatTime,
  formatUnits,
  groupDigits,
  shortHash,
  zoneOf,
} from '../../src/console/parts/format.ts'
import { explorerOf } from '../../src/console/parts/explorers.ts'
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

  it('give an amount the decimals of its currency, and cut none off', () => {
    expect(formatDecimal('51', 'USD')).to.equal('51.00')
    expect(formatDecimal('1000.5', 'EUR')).to.equal('1\u202f000.50')
    expect(formatDecimal('0.000001', 'USD')).to.equal('0.000001')
    expect(formatDecimal('0.000000000000000001', 'ETH')).to.equal('0.000000000000000001')
    expect(formatDecimal('12', 'ETH')).to.equal('12')
  })

  it('name the zone of a time, and tell it in UTC where that is asked for', () => {
    const iso = '2026-03-01T23:59:59.000Z'
    expect(formatTime(iso, 'utc')).to.equal('2026-03-01 23:59:59')
    expect(zoneOf(iso, 'utc')).to.equal('UTC')
    expect(zoneOf(iso)).to.match(/^(UTC|[+-]\d\d:\d\d)$/)
  })

  it('lead to the explorer of a chain that has one, and nowhere for another', () => {
    expect(explorerOf(1, '0xab')).to.equal('https://etherscan.io/tx/0xab')
    expect(explorerOf(31_337, '0xab')).to.equal(undefined)
    expect(explorerOf(undefined, '0xab')).to.equal(undefined)
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
