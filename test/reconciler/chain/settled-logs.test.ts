import { expect } from 'chai'

import { topicOf } from '../../../src/chain/read/events.ts'
import { readSettledLogs } from '../../../src/reconciler/chain/settled-logs.ts'
import { failureOf } from '../../fixtures/errors.ts'

const CONTRACT = `0x${'c0'.repeat(20)}` as const
const [A, B] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`]

describe('the settlements in an answer', () => {
  const good = (): Record<string, unknown> & { topics: string[] } => ({
    address: CONTRACT,
    topics: [topicOf('Settled'), `0x${'ab'.repeat(32)}`, addressWord(A), addressWord(B)],
    data: `0x${'0'.repeat(64)}${(5).toString(16).padStart(64, '0')}`,
    blockNumber: '0x10',
    blockHash: `0x${'be'.repeat(32)}`,
    transactionHash: `0x${'cd'.repeat(32)}`,
    transactionIndex: '0x0',
    logIndex: '0x2',
    removed: false,
  })
  const read = (...logs: unknown[]) => readSettledLogs({ value: logs, provider: 'node' }, CONTRACT)

  it('are read in every field', () => {
    const settled = {
      block: { number: 16n, hash: `0x${'be'.repeat(32)}` },
      logIndex: 2,
      hash: `0x${'cd'.repeat(32)}`,
      reference: `0x${'ab'.repeat(32)}`,
      payer: A,
      payee: B,
      token: undefined,
      amount: 5n,
      own: undefined,
    }
    expect(read(good())).to.deep.equal([settled])
    const inToken = { ...good(), data: `${addressWord(CONTRACT)}${'f'.repeat(64)}` }
    expect(read(inToken)).to.deep.equal([{ ...settled, token: CONTRACT, amount: 2n ** 256n - 1n }])
  })

  it('are in lower case, however the node writes them', () => {
    const shouted = JSON.parse(
      JSON.stringify(good()).replaceAll(/0x[0-9a-f]+/g, (hex) => `0x${hex.slice(2).toUpperCase()}`),
    ) as unknown
    const topic = { ...(shouted as object), topics: good().topics }
    expect(read(topic)).to.deep.equal(read(good()))
  })

  it('keep their own block where it changes between two of them', () => {
    const later = { ...good(), blockNumber: '0x11', blockHash: `0x${'bf'.repeat(32)}` }
    const forked = { ...good(), blockHash: `0x${'bf'.repeat(32)}` }
    const blocks = read(good(), later, forked).map(({ block }) => block)
    expect(blocks).to.deep.equal([
      { number: 16n, hash: `0x${'be'.repeat(32)}` },
      { number: 17n, hash: `0x${'bf'.repeat(32)}` },
      { number: 16n, hash: `0x${'bf'.repeat(32)}` },
    ])
  })

  const others: Record<string, object> = {
    'of another contract': { address: A },
    'of another event': { topics: [topicOf('Transfer'), ...good().topics.slice(1)] },
    'with a topic too few': { topics: good().topics.slice(0, 3) },
    'with a topic too many': { topics: [...good().topics, addressWord(A)] },
    'of no amount': { data: `${(good()['data'] as string).slice(0, 66)}${'0'.repeat(64)}` },
    'with more data': { data: `${good()['data'] as string}${'0'.repeat(64)}` },
    'with bytes before an address': {
      topics: [...good().topics.slice(0, 3), `0x${'b2'.repeat(32)}`],
    },
  }
  for (const [name, change] of Object.entries(others)) {
    it(`are not those ${name}`, () => {
      expect(read({ ...good(), ...change })).to.deep.equal([])
    })
  }

  const fields = ['blockNumber', 'blockHash', 'transactionHash', 'logIndex']
  for (const field of [...fields, 'address', 'topics', 'data']) {
    it(`are not had from an answer whose ${field} cannot be read`, async () => {
      // Text of another form, where these are text, only makes it another log.
      const text = fields.includes(field) ? ['<html>', '0x', '0xzz'] : []
      for (const value of [undefined, null, 7, {}, ...text]) {
        const error = await failureOf(async () => read(good(), { ...good(), [field]: value }))
        expect(error.code).to.equal('chain_answer_unreadable')
      }
    })
  }

  it('are not had from what is no list, or from a list of nothing', async () => {
    for (const value of [null, {}, 'logs', [null], ['log']]) {
      const error = await failureOf(async () =>
        readSettledLogs({ value, provider: 'node' }, CONTRACT),
      )
      expect(error.code).to.equal('chain_answer_unreadable')
    }
  })
})

function addressWord(address: string): string {
  return `0x${'0'.repeat(24)}${address.slice(2)}`
}
