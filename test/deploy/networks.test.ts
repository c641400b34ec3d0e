import { expect } from 'chai'

import { findNetwork, NETWORKS } from '../../src/deploy/networks.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('a network', () => {
  it('is found by its name, in whatever case and with dashes', () => {
    for (const name of ['baseSepolia', 'base-sepolia', 'BASE_SEPOLIA', 'basesepolia']) {
      expect(findNetwork(name)).to.equal(NETWORKS.baseSepolia)
    }
  })

  it('has a name, a chain and a variable of its own', () => {
    const all = Object.entries(NETWORKS)
    for (const [key, { name }] of all) expect(name).to.equal(key)
    expect(new Set(all.map(([, { chainId }]) => chainId)).size).to.equal(all.length)
    expect(new Set(all.map(([, { rpcVariable }]) => rpcVariable)).size).to.equal(all.length)
  })

  it('is each chain that the platform knows by name, and its testnet', () => {
    const ids = Object.values(NETWORKS).flatMap(({ chainId = [] }) => chainId)
    const mainnets = [1, 10, 137, 8453, 42_161]
    const testnets = [11_155_111, 560_048, 84_532, 421_614, 11_155_420, 80_002]
    expect(ids).to.have.members([...mainnets, ...testnets])
  })

  it('is refused when it is none of ours', async () => {
    const error = await expectFailure(() => findNetwork('mainnet'), 'network_unknown')
    expect(error.details['known']).to.deep.equal(Object.keys(NETWORKS))
  })
})
