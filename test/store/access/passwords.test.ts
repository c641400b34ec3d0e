import { expect } from 'chai'

import { hashPassword, verifyPassword } from '../../../src/store/access/passwords.ts'
import { cpuTimeOf } from '../../engines/bench/cpu.ts'

describe('passwords', () => {
  it('match their own hash, salted anew each time', async () => {
    const hashes = [await hashPassword('open sesame 42'), await hashPassword('open sesame 42')]
    expect(hashes[0]).not.to.equal(hashes[1])
    expect(await verifyPassword(hashes[0], 'open sesame 42')).to.equal(true)
    expect(await verifyPassword(hashes[0], 'open sesame 43')).to.equal(false)
  })

  it('match however a keyboard composes their characters', async () => {
    const hash = await hashPassword('cafe\u0301 au lait noir')
    expect(await verifyPassword(hash, 'caf\u00e9 au lait noir')).to.equal(true)
  })

  it('cost the same time for a user that does not exist', async () => {
    const hash = await hashPassword('open sesame 42')
    // What else this process does is in a figure as well, and only adds to it: the least counts.
    const least = { known: Infinity, unknown: Infinity }
    for (let round = 0; round < 15; round++) {
      least.known = Math.min(least.known, await timeOfRefusal(hash))
      least.unknown = Math.min(least.unknown, await timeOfRefusal(undefined))
    }
    expect(least.unknown / least.known).to.be.within(0.6, 1.6)
  })
})

function timeOfRefusal(known: string | undefined): Promise<number> {
  return cpuTimeOf(async () => {
    expect(await verifyPassword(known, 'guess of a stranger')).to.equal(false)
  })
}
