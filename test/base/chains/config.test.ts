import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { configOf, parseConfig } from '../../../src/base/config.ts'
import { KNOWN_CHAINS } from '../../../src/base/chains/known.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const TOKEN = `0x${'a'.repeat(40)}`

describe('QUITTANCE_CHAINS', () => {
  const folder = temporaryFolder()
  const file = join(folder.path, 'chains.json')
  after(() => folder.remove())

  const parse = (chains: unknown, more: Record<string, string> = {}) => {
    writeFileSync(file, typeof chains === 'string' ? chains : JSON.stringify(chains, null, 2))
    return parseConfig({ QUITTANCE_CHAINS: file, ...more })
  }

  it('takes what is known of a chain from its name alone', () => {
    const { chains, ...usual } = parse([{ name: 'base' }, { name: 'arbitrum' }])
    const { rpcUrl, chainId } = KNOWN_CHAINS.base
    expect(chains[0]).to.deep.include({ name: 'base', code: 'BASE', chainId, rpcUrls: [rpcUrl] })
    expect(chains[0]).to.include({ confirmations: 'finalized', stack: 'op' })
    expect(chains[1]).to.include({ code: 'ARB', chainId: 42_161, stack: 'arbitrum' })
    expect(usual).to.include(chains[0])
    expect(configOf({ chains, ...usual }, chains[1]!)).to.include({ name: 'arbitrum', code: 'ARB' })
  })

  it('takes what it says before what is known', () => {
    const { chains } = parse([
      {
        name: 'base',
        code: 'B2',
        providers: ['https://one.example', 'https://two.example'],
        finality: 'safe',
        inFlight: 64,
        settlement: TOKEN,
        stablecoin: 'USDC',
        tokens: [
          { symbol: 'USDC', address: TOKEN, profile: 'fiat_token' },
          { symbol: 'EURC', address: `0x${'b'.repeat(40)}` },
        ],
        fees: 'ethereum',
        startBlock: 17,
      },
    ])
    expect(chains[0]).to.deep.equal({
      name: 'base',
      code: 'B2',
      chainId: 8453,
      rpcUrls: ['https://one.example', 'https://two.example'],
      confirmations: 'safe',
      inFlight: 64,
      settlementAddress: TOKEN,
      stablecoinAddress: TOKEN,
      stablecoinProfile: 'fiat_token',
      coin: 'ETH',
      tokens: [{ symbol: 'EURC', address: `0x${'b'.repeat(40)}` }],
      stack: 'ethereum',
      startBlock: 17n,
    })
  })

  it('takes any other chain by its id and its providers', () => {
    const one = { name: 'devnet', id: 77_777, providers: ['http://127.0.0.1:1'] }
    const [chain] = parse([one]).chains
    expect(chain).to.include({ name: 'devnet', code: 'DEVNET', chainId: 77_777, confirmations: 12 })
  })

  const refuses = (name: string, chains: unknown, ...words: string[]) =>
    it(`refuses ${name}, with the line`, () => {
      const problem = problemOf(() => parse(chains))
      for (const word of words) expect(problem).to.include(word)
    })

  refuses('what is no JSON', '[\n  {\n    "name": base\n  }\n]', 'chains.json, line 3', 'JSON')
  refuses('a text that ends too early', '[\n  {\n', 'line 2')
  refuses('no chain', '[]', 'line 1: must be a list of chains')
  refuses('a field that is not known', [{ name: 'base', rpc: [] }], 'line 4: rpc is unknown')
  refuses(
    'an id of another chain',
    [{ name: 'base', id: 10 }],
    'line 4: id is 10, but base is chain',
  )
  refuses('an unknown chain without an id', [{ name: 'mine' }], 'line 2: is not a known chain')
  refuses('a coin that banks have', [{ name: 'base', coin: 'USD' }], 'line 4: coin is the name of')
  refuses(
    'a token that is called as the coin is',
    [{ name: 'polygon', tokens: [{ symbol: 'POL', address: TOKEN }] }],
    'line 4: tokens has POL, which is the coin of the chain',
  )

  it('knows the coin of a chain, and takes another one from the file', () => {
    const coinsOf = (...chains: object[]) => parse(chains).chains.map(({ coin }) => coin)
    const own = { name: 'mine', id: 77, providers: ['http://one'] }
    expect(coinsOf({ name: 'polygon' }, { name: 'base' })).to.deep.equal(['POL', 'ETH'])
    expect(coinsOf(own, { ...own, name: 'other', id: 78, coin: 'XDAI' })).to.deep.equal([
      undefined,
      'XDAI',
    ])
  })
  refuses(
    'each mistake of all chains',
    [
      { name: 'base', finality: 'soon' },
      { name: 'optimism', providers: ['ftp://x'] },
    ],
    'line 4: finality must be a whole number',
    'line 8: providers must be one or more http(s) addresses',
  )
  refuses(
    'no transaction at all on its way',
    [{ name: 'base', inFlight: 0 }],
    'line 4: inFlight must be a whole number from 1 to 1000',
  )
  refuses('two of one name', [{ name: 'base' }, { name: 'base' }], 'line 6: name is base')
  refuses(
    'two of one code',
    [{ name: 'ethereum' }, { name: 'sepolia' }],
    'line 5: code is ETH, the same as that of an earlier chain',
  )
  refuses(
    'a dollar that is none of the tokens',
    [{ name: 'base', stablecoin: 'USDC', tokens: [{ symbol: 'DAI', address: TOKEN }] }],
    'line 4: stablecoin is USDC, which is not one of the tokens',
  )
  refuses(
    'a bad address',
    [{ name: 'base', tokens: [{ symbol: 'DAI', address: '0x12' }] }],
    'line 7: address must be 0x and 40',
  )

  it('is not for the variables of one chain beside it', () => {
    const problem = problemOf(() => parse([{ name: 'base' }], { ETH_RPC_URL: 'http://one:1' }))
    expect(problem).to.include('QUITTANCE_CHAINS').and.to.include('ETH_RPC_URL')
  })

  it('must be a file', () => {
    const problem = problemOf(() => parseConfig({ QUITTANCE_CHAINS: join(folder.path, 'no') }))
    expect(problem).to.include('QUITTANCE_CHAINS must be a file that can be read (ENOENT)')
  })
})

function problemOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was refused')
}
