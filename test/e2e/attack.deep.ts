import { expect } from 'chai'

import type { Attack } from '../engines/attack/attack.ts'
import { gauges } from '../engines/attack/gauges.ts'
import { logCanary } from '../engines/attack/log-canary.ts'
import { overload } from '../engines/attack/overload.ts'
import { sameKey } from '../engines/attack/same-key.ts'

const quick = { seconds: 1, say: () => undefined }

describe('three times what the platform can do', () => {
  it('leaves nothing hanging, and is answered by nothing but yes and later', async () => {
    const [result] = await overload.run(quick)
    expect(result?.count).to.be.above(10)
    // How long anything takes depends on what else this machine does; `npm run attack` measures it.
    const wrong = result?.wrong.filter((sentence) => /hung|answers|Retry-After/.test(sentence))
    expect(wrong).to.deep.equal([])
  })
})

/** Those of `npm run attack` that take seconds; the others wait for limits of half a minute. */
describe('the platform holds against', () => {
  const isServer = process.env['DATABASE_URL'] !== undefined
  const attacks: readonly Attack[] = [sameKey, ...(isServer ? [logCanary, gauges] : [])]
  for (const { name, run } of attacks) {
    it(name, async () => {
      for (const { tried, count, wrong } of await run(quick)) {
        expect(count, tried).to.be.above(0)
        expect(wrong, tried).to.deep.equal([])
      }
    })
  }
})
