import { expect } from 'chai'

import { takeSample } from '../../src/app/samples.ts'
import { createProviders } from '../../src/chain/rpc/providers.ts'
import type { Db } from '../../src/store/database/database.ts'
import { storeSolvency } from '../../src/store/ledger/supply.ts'
import { closeBreak } from '../../src/store/reconciliation/breaks.ts'
import { listSamples } from '../../src/store/transactions/overview.ts'
import { CHAIN_ID } from '../engines/sim/world.ts'
import { DOLLAR, TOKEN } from '../fixtures/books/money.ts'
import { makeBreak } from '../fixtures/books/runs.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const MINUTE_MS = 60_000

describe('a sample of the overview', () => {
  let db: Db

  before(async () => {
    ;({ db } = await freshDatabase())
  })

  it('keeps the open breaks and the supply beside the liability, minute by minute', async () => {
    const clock = createTestClock()
    const since = clock.now()
    const urls = ['http://127.0.0.1:9']
    const providers = createProviders({ urls, chainId: CHAIN_ID, clock, random: () => 0.5 })
    const chain = { chainId: CHAIN_ID, providers }
    const take = async (stablecoin: typeof TOKEN | undefined) => {
      clock.advance(MINUTE_MS)
      await takeSample({ db, clock, chain, contracts: { stablecoin } })
    }
    await take(undefined)
    const breakId = await makeBreak(db)
    const supply = { blockNumber: 7n, supply: 3n * DOLLAR, now: clock.now() }
    await storeSolvency(db, { chainId: CHAIN_ID, token: TOKEN }, supply)
    await take(TOKEN)
    const now = clock.now()
    await closeBreak(db, { breakId, as: 'operator', actor: 'user:1', note: 'looked at', now })
    await take(TOKEN)
    const samples = await listSamples(db, {
      chainId: CHAIN_ID,
      since: new Date(+since - MINUTE_MS),
      limit: 10,
    })
    const told = samples.map((sample) => [sample.openBreaks, sample.supply, sample.liability])
    expect(told).to.deep.equal([
      [0, undefined, undefined],
      [1, 3n * DOLLAR, 0n],
      [0, 3n * DOLLAR, 0n],
    ])
  })
})
