import { expect } from 'chai'

import { overload } from '../support/attack/overload.ts'

describe('three times what the platform can do', () => {
  it('leaves nothing hanging, and is answered by nothing but yes and later', async () => {
    const [result] = await overload.run({ seconds: 2, say: () => undefined })
    expect(result?.count).to.be.above(10)
    // How long anything takes depends on what else this machine does; `npm run attack` measures it.
    const wrong = result?.wrong.filter((sentence) => /hung|answers/.test(sentence))
    expect(wrong).to.deep.equal([])
  })
})
