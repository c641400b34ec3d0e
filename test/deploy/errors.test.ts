import { expect } from 'chai'
import { HttpRequestError } from 'viem'

import { ask } from '../../src/deploy/errors.ts'
import { NETWORKS } from '../../src/deploy/networks.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('a node that does not answer', () => {
  it('is named, with what to do where it is a public one', async () => {
    const refused = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
    const cause = new TypeError('fetch failed', { cause: refused })
    const asking = (url: string) => () =>
      Promise.reject(new HttpRequestError({ url, cause, details: cause.message }))

    const { rpcUrl } = NETWORKS.sepolia
    const open = await expectFailure(() => ask('its fees', asking(rpcUrl)), 'deploy_rpc_failed')
    expect(open.message).to.equal(
      'The node ethereum-sepolia-rpc.publicnode.com did not say its fees: ENOTFOUND. It is a ' +
        'public node: set ETH_RPC_URL to a node of your own, and run the same command again.',
    )
    const own = asking('https://node.example/v2/secret')
    const { message } = await expectFailure(() => ask('its fees', own), 'deploy_rpc_failed')
    expect(message).to.contain('The node node.example did').and.contain('Check the RPC address')
    expect(message).to.not.contain('secret')
  })
})
