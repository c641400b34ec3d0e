import { expect } from 'chai'
import { sql } from 'kysely'
import { pino } from 'pino'
import { Registry } from 'prom-client'

import { createStatusServer } from '../../src/api/server/server.ts'
import { measureOrders, measureWebhooks } from '../../src/app/metrics.ts'
import { measureBreaks } from '../../src/app/reconcile/reconciliation.ts'
import { measureSupply } from '../../src/app/supply.ts'
import { systemClock } from '../../src/base/clock.ts'
import { limits } from '../../src/base/limits.ts'
import type { Db } from '../../src/store/database/database.ts'
import { storeSolvency } from '../../src/store/ledger/supply.ts'
import { openAlert } from '../../src/store/orders/sender-alerts.ts'
import { CHAIN_ID } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { makeDelivery } from '../fixtures/api/webhooks.ts'
import { makeBreak } from '../fixtures/books/runs.ts'
import { freshDatabase } from '../fixtures/store/database.ts'
import { storePaidOrders } from '../fixtures/store/paid-orders.ts'
import { LOCAL } from '../fixtures/api/chains.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const ADDRESS = `0x${'cd'.repeat(20)}` as const
const TOKEN = { token: ADDRESS, chainId: CHAIN_ID }
const AGE_S = 580

const secondsAgo = () => new Date(Date.now() - AGE_S * 1000)

/** By the gauge that must show it: a change, and from where to where the gauge goes. */
const CHANGES: Record<string, { change: (db: Db) => Promise<unknown>; to: number }> = {
  'quittance_open_orders{chain="local"}': { change: storeOpenOrders, to: 79 },
  'quittance_oldest_open_order_seconds{chain="local"}': { change: storeOpenOrders, to: AGE_S },
  'quittance_sender_alerts{chain="local",kind="reorg_after_final"}': {
    change: (db) => {
      const alert = { kind: 'reorg_after_final', orderId: undefined, hash: HASH } as const
      return openAlert(db, { ...alert, chainId: CHAIN_ID }, new Date())
    },
    to: 1,
  },
  quittance_webhook_oldest_due_seconds: {
    async change(db) {
      const { id: userId } = await makeUser(db)
      await makeDelivery(db, { userId })
      await sql`update webhook_deliveries set due_at = ${secondsAgo()}`.execute(db)
    },
    to: AGE_S,
  },
  'quittance_open_breaks{chain="local",kind="missing"}': { change: (db) => makeBreak(db), to: 1 },
  'quittance_supply_drift_dollars{chain="local"}': {
    change: (db) =>
      storeSolvency(db, TOKEN, { blockNumber: 7n, supply: 5_000_000n, now: new Date() }),
    to: 5,
  },
  'quittance_supply_findings{chain="local",finding="no_order"}': {
    change: (db) =>
      sql`insert into supply_events (chain_id, token, kind, holder, memo, amount,
          transaction_hash, block_number, block_hash, finding)
        values (${CHAIN_ID}, ${ADDRESS}, 'mint', ${ADDRESS}, ${HASH}, 1, ${HASH}, 7, ${HASH},
          'no_order')`.execute(db),
    to: 1,
  },
}

describe('the metrics', () => {
  for (const [series, { change, to }] of Object.entries(CHANGES)) {
    it(`show a change of ${series} in the very next scrape`, async () => {
      const { db, scrape } = await prepare()
      expect((await scrape()).get(series) ?? 0).to.equal(0)
      await change(db)
      // What an age has become meanwhile is no error.
      expect((await scrape()).get(series)).to.be.within(
        to,
        series.includes('seconds') ? to + 60 : to,
      )
    })
  }

  it('show a change over HTTP a second later at most, whoever asked before it', async () => {
    const { db, registry } = await prepare()
    const logger = pino({ level: 'silent' })
    const server = createStatusServer({
      logger,
      registry,
      checks: () => [],
      isStopping: () => false,
    })
    const scrape = async () => readSeries((await server.inject({ url: '/metrics' })).body)
    const series = 'quittance_oldest_open_order_seconds{chain="local"}'
    expect((await scrape()).get(series)).to.equal(0)
    await storeOpenOrders(db)
    await new Promise((later) => setTimeout(later, limits.metricsAgeMs + 20))
    expect((await scrape()).get(series)).to.be.within(AGE_S, AGE_S + 60)
    await server.close()
  })

  it('have no gauge that is not among these', async () => {
    const { registry } = await prepare()
    const gauges = registry.getMetricsAsArray().map(({ name }) => name)
    expect(Object.keys(CHANGES).map((series) => series.replace(/\{.*/, ''))).to.have.members(gauges)
  })

  it('show every series in each of two scrapes that come at once', async () => {
    const { db, scrape } = await prepare()
    for (const { change } of [
      CHANGES['quittance_sender_alerts{chain="local",kind="reorg_after_final"}']!,
      CHANGES['quittance_supply_findings{chain="local",finding="no_order"}']!,
    ]) {
      await change(db)
    }
    const scrapes = await Promise.all(Array.from({ length: 20 }, scrape))
    for (const seen of scrapes) {
      expect(seen.get('quittance_sender_alerts{chain="local",kind="reorg_after_final"}')).to.equal(
        1,
      )
      expect(seen.get('quittance_supply_findings{chain="local",finding="no_order"}')).to.equal(1)
    }
  })
})

async function prepare() {
  const { db } = await freshDatabase()
  const registry = new Registry()
  const chains = () => [LOCAL]
  measureOrders({ registry, db, chains, clock: systemClock })
  measureWebhooks(registry, db)
  measureBreaks({ registry, db, chains })
  measureSupply(registry, db, () => [{ ...LOCAL, stablecoin: TOKEN }])
  return { db, registry, scrape: async () => readSeries(await registry.metrics()) }
}

/** Each series with its labels as Prometheus' text form has them. */
function readSeries(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const cut = line.lastIndexOf(' ')
      return [line.slice(0, cut), Number(line.slice(cut + 1))]
    }),
  )
}

function storeOpenOrders(db: Db): Promise<unknown> {
  const parties = { chainId: CHAIN_ID, signer: ADDRESS, payee: `0x${'ee'.repeat(20)}` } as const
  const open = {
    contract: ADDRESS,
    state: 'mined',
    isSettled: false,
    acceptedAt: secondsAgo(),
  } as const
  return storePaidOrders(db, { ...parties, ...open, count: 79 })
}
