import { expect } from 'chai'

import { buildContracts, runHardhat } from './fixtures/contracts/hardhat.ts'

describe('the contracts', () => {
  it('hold what their own tests say, which Hardhat runs', async function () {
    // Its fuzzing may be asked for more rounds.
    this.timeout(0)
    await buildContracts()
    const { code, output } = await runHardhat(['--network', 'osaka', 'test', '--no-compile'])
    if (code !== 0) throw new Error(output)
    process.stdout.write(output)
    expect(output).to.match(/[1-9]\d* passing \([1-9]\d* solidity, [1-9]\d* mocha\)/)
  })
})
