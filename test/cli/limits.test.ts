import { expect } from 'chai'

import { makeUser } from '../fixtures/api/access.ts'
import { createCommandBench, type CommandBench } from '../fixtures/commands.ts'
import { runToEnd } from '../fixtures/program.ts'

type Row = Record<string, unknown>

describe('quittance limits', () => {
  let bench: CommandBench

  before(async () => {
    bench = await createCommandBench()
    await bench.withDatabase(({ db }) => makeUser(db, { username: 'alice' }))
  })
  after(() => bench.remove())

  const limits = (...args: string[]) => bench.run('limits', ...args)
  const listed = async (way: string, ...args: string[]) => {
    const { answer } = await limits('list', ...args)
    return (answer['limits'] as Row[]).find((row) => row['way'] === way)
  }

  it('sets them for everybody or one user, takes them back, and keeps the history', async () => {
    const forAll = await limits('set', 'chain', 'ETH', '--per-day', '20000')
    expect(forAll.code).to.equal(0)
    expect(forAll.answer).to.include({ user: null, perTransaction: '1000', perDay: '20000' })
    const alice = ['--user', 'alice'] as const
    const own = await limits('set', 'chain', 'ETH', ...alice, '--per-transaction', '0')
    expect(own.answer).to.include({ user: 'alice', perTransaction: '0', perDay: '20000' })
    expect(await listed('chain')).to.include({ perTransaction: '1000' })
    expect(await listed('chain', ...alice)).to.include({ perTransaction: '0', usedToday: '0' })
    const { stdout } = await runToEnd(['limits', 'list', ...alice], bench.env)
    expect(stdout).to.match(/^ {2}way +currency +per transaction +per day .* used today$/m)
    expect(stdout).to.match(/^ {2}chain +ETH +0 +20000 +- +0$/m)
    const cleared = await limits('clear', 'chain', 'ETH', ...alice)
    expect(cleared.answer).to.include({ perTransaction: '1000' })
    const { answer } = await limits('history')
    const changes = answer['changes'] as Row[]
    expect(
      changes.map((row) => [row['userId'], row['perTransaction'], row['perDay']]),
    ).to.deep.equal([
      [1, null, null],
      [1, '0', null],
      [null, null, '20000'],
    ])
    expect(changes[0]).to.include({ changedBy: 'cli', way: 'chain', currency: 'ETH' })
  })

  for (const [name, args] of [
    ['a currency that the way does not take', ['mint', 'ETH', '--per-day', '1']],
    ['nothing to set', ['mint', 'USD']],
    ['an address where money goes to a bank', ['wire', 'USD', '--per-payee', '1']],
    ['what is no amount', ['mint', 'USD', '--per-day', '-1']],
    ['a user whom there is not', ['mint', 'USD', '--per-day', '1', '--user', 'nobody']],
  ] as const) {
    it(`refuses ${name}`, async () => {
      expect((await bench.show('limits', 'set', ...args)).code).to.equal(2)
      expect(await listed('mint')).to.include({ perDay: '100000000' })
    })
  }
})
