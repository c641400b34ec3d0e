import { expect } from 'chai'

import { requireTrustedProviders } from '../../src/app/trusted-providers.ts'
import { parseConfig } from '../../src/base/config.ts'
import { failureOf } from '../fixtures/errors.ts'

const judge = (urls: string, more: Record<string, string> = {}): string[] =>
  requireTrustedProviders(
    parseConfig({ QUITTANCE_ENVIRONMENT: 'production', ETH_RPC_URL: urls, ...more }),
  )

describe('requireTrustedProviders', () => {
  it('asks nothing of a sandbox, and two providers of any other environment', () => {
    expect(judge('', { QUITTANCE_ENVIRONMENT: 'sandbox' })).to.deep.equal([])
    expect(judge('https://one.example', { QUITTANCE_ENVIRONMENT: 'sandbox' })).to.deep.equal([])
    for (const two of [
      'https://one.example,https://two.example',
      'https://one.example/v3/key,https://two.example/v3/key,https://one.example',
      'http://one.example:8545,http://one.example:8546',
      'http://127.0.0.1:8545,http://localhost:9545',
    ]) {
      expect(judge(two)).to.deep.equal([])
    }
  })

  it('refuses one, however often and by whatever path or name it is given', async () => {
    for (const one of [
      '',
      'https://one.example',
      'https://one.example,https://ONE.example:443/',
      'https://one.example/v3/first,https://one.example./v3/second?key=third',
      'https://user:secret@one.example,https://one.example',
      'http://127.0.0.1:8545,http://localhost:8545,http://[::1]:8545,http://127.0.0.2:8545',
    ]) {
      const failure = await failureOf(async () => judge(one))
      expect(failure.code, one).to.equal('one_provider')
      expect(failure.message).to.include('QUITTANCE_TRUST_ONE_PROVIDER')
      expect(failure.message).not.to.match(/secret|first|second|third/)
    }
  })

  it('warns of the one that the operator trusts by name', () => {
    const trusted = { QUITTANCE_TRUST_ONE_PROVIDER: 'yes' }
    const [warning, ...others] = judge('https://one.example/v3/key', trusted)
    expect(others).to.deep.equal([])
    expect(warning).to.include('one.example:443').and.not.to.include('key')
    expect(judge('https://one.example,https://two.example', trusted)).to.deep.equal([])
  })
})
