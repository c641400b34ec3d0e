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
})
