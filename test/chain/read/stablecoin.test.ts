import { expect } from 'chai'
import { stringToHex } from 'viem'

import { systemClock } from '../../../src/base/clock.ts'
import { readStablecoin } from '../../../src/chain/read/stablecoin.ts'
import type { HttpProvider } from '../../../src/chain/rpc/http-provider.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import { RpcError } from '../../../src/chain/rpc/rpc-error.ts'
import { referenceDollar } from '../../../src/deploy/deployables.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import { addressFrom, CHAIN_ID, createWorld, placeDollar } from '../../engines/sim/world.ts'
import { startChain, type TestChain } from '../../fixtures/chain/anvil.ts'
import { answering, tokenAnswers, uint } from '../../fixtures/chain/token-code.ts'
import { expectFailure } from '../../fixtures/errors.ts'

describe('the configured stablecoin', () => {
  let chain: TestChain
  let places = 0

  before(async () => {
    chain = await startChain()
  })
  after(() => chain.stop())

  const providersOf = (urls: string[]) =>
    createProviders({ urls, chainId: CHAIN_ID, clock: systemClock, random: () => 0 })
  const place = async (code: Hex): Promise<Hex> => {
    const address = addressFrom(`token ${(places += 1)}`)
    await chain.client.setCode({ address, bytecode: code })
    return address
  }
  const read = async (code: Hex) =>
    readStablecoin(providersOf([chain.url]), { address: await place(code) })
  const refuses = async (code: Hex, words: string) => {
    const address = await place(code)
    const work = () => readStablecoin(providersOf([chain.url]), { address })
    const { message } = await expectFailure(work, 'stablecoin_unfit')
    expect(message)
      .to.include(address)
      .and.include(words)
      .and.include('6 decimals')
      .and.include('Correct STABLECOIN_ADDRESS')
    expect(message).not.to.include('\n')
  }
  const openToken = tokenAnswers(6n, 'USDX')

  it('tells its symbol, its decimals, and that its mints and burns carry a memo', async () => {
    const minter = addressFrom('minter')
    const address = await placeDollar(createWorld(chain.url), { minter, allowance: 1n })
    const facts = await readStablecoin(providersOf([chain.url]), { address })
    expect(facts).to.include({ symbol: 'RUSD', decimals: 6, profile: 'memo' })
    expect(facts.permitDomain).to.include({ name: 'Reference Dollar', version: '1' })
  })

  it('is known for a token without memos, whatever its fallback answers', async () => {
    const plain = { symbol: 'USDX', decimals: 6, profile: 'erc20', permitDomain: undefined }
    expect(await read(answering(openToken))).to.deep.equal(plain)
    for (const fallback of [uint(0n), uint(1n), uint(6n), '0x' as const]) {
      expect(await read(answering({ ...openToken, '*': fallback }))).to.deep.equal(plain)
    }
    const view = { 'isMemoUsed(address,bytes32)': uint(0n) }
    expect(await read(answering({ ...openToken, ...view }))).to.deep.equal(plain)
  })

  it('with 18 decimals completed an order of 1,000.00 for 0.000000001', async () => {
    await refuses(answering(tokenAnswers(18n, 'DAI')), 'decimals() is 18')
    await refuses(answering(tokenAnswers(2n ** 255n, 'BIG')), 'decimals() is 578960…')
    await refuses(answering(tokenAnswers(0n, 'NONE')), 'decimals() is 0')
  })

  it('is refused where it does not answer', async () => {
    const { 'decimals()': decimals, 'symbol()': symbol } = openToken
    await refuses(answering({ 'symbol()': symbol! }), 'decimals() returns no number')
    await refuses(answering({ ...openToken, 'decimals()': '0x' }), 'decimals() returns no number')
    await refuses(answering({ ...openToken, 'decimals()': '0x06' }), 'decimals() returns no number')
    await refuses('0xfe', 'decimals() returns no number')
    await refuses(answering({ 'decimals()': decimals! }), 'symbol() returns no text')
    await refuses(answering({ ...openToken, 'symbol()': `0x${'ff'.repeat(96)}` }), 'symbol()')
  })

  it('has no symbol where nobody could read it', async () => {
    for (const text of ['', 'US\nD', '\u202eDSU', 'x'.repeat(33)]) {
      expect(await read(answering(tokenAnswers(6n, text)))).to.include({ symbol: null })
    }
  })

  it('may tell its symbol in 32 bytes, as old tokens do', async () => {
    const symbol = stringToHex('OLD', { size: 32 })
    expect(await read(answering({ ...openToken, 'symbol()': symbol }))).to.include({
      symbol: 'OLD',
    })
  })

  it('is refused where there is no contract', async () => {
    const address = addressFrom('nobody')
    const work = () => readStablecoin(providersOf([chain.url]), { address })
    const { message } = await expectFailure(work, 'contract_missing')
    expect(message).to.include(address).and.include('found no code').and.include('6 decimals')
  })

  it('is read of the providers that answer, and refused where they differ', async () => {
    const address = await place(answering(openToken))
    const [honest] = providersOf([chain.url]).all
    const silent: HttpProvider = {
      ...honest!,
      name: 'silent',
      request: () => Promise.reject(new RpcError('silent', { code: 'rpc_unreachable' })),
    }
    const lying: HttpProvider = {
      ...honest!,
      name: 'lying',
      request: async (call) => {
        const isCall = call.method === 'eth_call'
        const { data } = ((isCall && call.params?.[0]) || {}) as { data?: Hex }
        return data === '0x313ce567' ? uint(18n) : honest!.request(call)
      },
    }
    const readBy = (...all: HttpProvider[]) => readStablecoin({ all }, { address })
    expect(await readBy(silent, honest!)).to.include({ symbol: 'USDX' })
    await expectFailure(() => readBy(silent), 'rpc_unreachable')
    const { message } = await expectFailure(() => readBy(honest!, lying), 'providers_differ')
    expect(message).to.include('lying shows 18 decimals').and.include(address)
  })

  it('is known for its memos by a node that keeps revert data to itself', async () => {
    const address = await place(referenceDollar(addressFrom('admin')).runtime.code)
    const [honest] = providersOf([chain.url]).all
    const quiet: HttpProvider = {
      ...honest!,
      request: (call) =>
        honest!.request(call).catch((error: RpcError) => {
          throw new RpcError(error.message, { code: error.code })
        }),
    }
    expect(await readStablecoin({ all: [quiet] }, { address })).to.include({ profile: 'memo' })
  })
})
