import { expect } from 'chai'
import { stringToHex } from 'viem'

import { systemClock } from '../../../src/base/clock.ts'
import { findContracts } from '../../../src/chain/read/contracts.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import { addressFrom, CHAIN_ID, createWorld, placeDollar } from '../../engines/sim/world.ts'
import { startChain, type TestChain } from '../../fixtures/chain/anvil.ts'
import { answering, tokenAnswers, uint } from '../../fixtures/chain/token-code.ts'
import { expectFailure } from '../../fixtures/errors.ts'

describe('the other configured tokens', () => {
  let chain: TestChain
  let dollar: Hex
  let places = 0

  before(async () => {
    chain = await startChain()
    const minter = addressFrom('minter')
    dollar = await placeDollar(createWorld(chain.url), { minter, allowance: 1n })
  })
  after(() => chain.stop())

  const place = async (code: Hex): Promise<Hex> => {
    const address = addressFrom(`other token ${(places += 1)}`)
    await chain.client.setCode({ address, bytecode: code })
    return address
  }
  const find = (
    tokens: { symbol: string; address: Hex }[],
    stablecoin: Hex | undefined = dollar,
  ) => {
    const parts = { chainId: CHAIN_ID, clock: systemClock, random: () => 0 }
    const providers = createProviders({ urls: [chain.url], ...parts })
    return findContracts(providers, { settlement: undefined, stablecoin, tokens })
  }
  const refuses = async (tokens: { symbol: string; address: Hex }[], words: string) => {
    const { message } = await expectFailure(() => find(tokens), 'bad_configuration')
    expect(message).to.include('QUITTANCE_TOKENS').and.include(words).and.not.include('\n')
  }

  it('stand behind the stablecoin, with their decimals and by their symbols', async () => {
    const dai = await place(answering(tokenAnswers(18n, 'DAI')))
    const old = await place(
      answering({ 'decimals()': uint(0n), 'symbol()': stringToHex('OLD', { size: 32 }) }),
    )
    const { tokens } = await find([
      { symbol: 'DAI', address: dai },
      { symbol: 'OLD', address: old },
    ])
    expect(tokens.map(({ permitDomain: _domain, ...token }) => token)).to.deep.equal([
      { currency: 'USD', address: dollar, symbol: 'RUSD', decimals: 6 },
      { currency: 'DAI', address: dai, symbol: 'DAI', decimals: 18 },
      { currency: 'OLD', address: old, symbol: 'OLD', decimals: 0 },
    ])
  })

  it('have permits where the domain is the one that follows from what they say', async () => {
    const minter = addressFrom('minter')
    const other = await placeDollar(createWorld(chain.url), { minter, allowance: 1n })
    const { tokens } = await find([{ symbol: 'RUSD', address: other }])
    const [domain, another] = tokens.map(({ permitDomain }) => permitDomain)
    const { separator = '0x' } = domain ?? {}
    expect(separator).to.match(/^0x[0-9a-f]{64}$/)
    expect(another?.separator)
      .to.match(/^0x[0-9a-f]{64}$/)
      .and.not.equal(separator)
    const claims = { 'nonces(address)': uint(0n), 'DOMAIN_SEPARATOR()': separator }
    const thief = await place(answering({ ...tokenAnswers(6n, 'FAKE'), ...claims }))
    const found = await find([{ symbol: 'FAKE', address: thief }])
    expect(found.tokens[1]?.permitDomain).to.equal(undefined)
  })

  it('are refused at the start where they are not what their names say', async () => {
    const euro = await place(answering(tokenAnswers(6n, 'EURC')))
    await refuses([{ symbol: 'EUROC', address: euro }], 'calls itself EURC, and not EUROC')
    await refuses([{ symbol: 'EURC', address: addressFrom('nothing') }], 'there is no contract')
    const fine = await place(answering(tokenAnswers(19n, 'FINE')))
    await refuses([{ symbol: 'FINE', address: fine }], 'has 19 decimals, and at most 18')
    const plain = await place(answering({ 'symbol()': tokenAnswers(0n, 'NONE')['symbol()']! }))
    await refuses([{ symbol: 'NONE', address: plain }], 'decimals() returns no number')
    await refuses([{ symbol: 'RUSD', address: dollar }], 'which is USD')
    for (const symbol of ['USD', 'ETH', 'EUR', 'GBP']) {
      await refuses([{ symbol, address: euro }], 'is a currency and not a token')
    }
    const one = { symbol: 'EURC', address: euro }
    await refuses([one, one], 'it names EURC twice')
    await refuses([one, { symbol: 'EURX', address: euro }], 'twice')
    const wrongCase: Hex = `0x${euro.slice(2).replace(/[a-f]/, (digit) => digit.toUpperCase())}`
    await refuses([{ symbol: 'EURC', address: wrongCase }], 'checksum')
  })
})
