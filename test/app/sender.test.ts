import { expect } from 'chai'

import { policyOf } from '../../src/app/sender.ts'
import { parseConfig } from '../../src/base/config.ts'

describe('the policy of a sender', () => {
  it('is what is set for its chain', () => {
    const set = { ETH_RPC_URL: 'http://one', QUITTANCE_CONFIRMATIONS: '3' }
    const policy = (env: Record<string, string>) =>
      policyOf({ isEmbedded: false }, parseConfig({ ...set, ...env }))
    expect(policy({})).to.include({ confirmations: 3, inFlight: 16 })
    expect(policy({ QUITTANCE_IN_FLIGHT: '64' })).to.include({ confirmations: 3, inFlight: 64 })
  })

  it('looks and sends again as often as the blocks of the embedded chain are quick', () => {
    const policy = (blockMs: string, isEmbedded = true) =>
      policyOf({ isEmbedded }, parseConfig({ QUITTANCE_BLOCK_MS: blockMs }))
    const usual = { pollIntervalMs: 500, rebroadcastMs: 15_000 }
    expect(policy('100')).to.include({ pollIntervalMs: 50, rebroadcastMs: 1500 })
    expect(policy('1000')).to.include(usual)
    expect(policy('12000')).to.include(usual)
    expect(policy('100', false)).to.include(usual)
  })
})
