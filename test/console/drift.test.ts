import { expect } from 'chai'

import { describeInChromium, obstaclesOf } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'

const at = '2026-11-25T18:08:59.101Z'
const DRIFT = {
  id: '7',
  kind: 'supply_drift',
  state: 'open',
  meaning: 'The supply on chain is not what the ledger owes.',
  remedy: 'Stop mints.',
  transaction_id: null,
  eth_transaction_hash: null,
  at_risk_decimal: null,
  recorded: { liability: '1000000.00', currency: 'USD' },
  on_chain: { supply: '1000007.00', currency: 'USD' },
  evidence: { drift: '2.00', mints_ahead: '5.00', mints_behind: '0.00', block: '12345' },
  first_seen_at: at,
  last_seen_at: at,
  closed_at: null,
}

describeInChromium('a drift of the supply in the console', (chromium) => {
  let opened: OpenConsole

  before(async () => {
    opened = await openConsole(chromium)
  })

  after(() => opened?.close())

  it('is one account of both sides, and no table of fields that one side lacks', async () => {
    const { page } = opened
    const json = { success: true, break: DRIFT, history: [] }
    await page.route(/\/api\/breaks\/7/, (route) => route.fulfill({ json }))
    await opened.show('breaks/7')
    const account = page.getByRole('region', { name: 'Ledger and supply' })
    await account.waitFor()
    expect((await account.locator('dd').allInnerTexts()).map((one) => one.trim())).to.deep.equal([
      '1\u202f000\u202f000.00 USD',
      '5.00 USD',
      '0.00 USD',
      '1\u202f000\u202f007.00 USD',
      '2.00 USD',
      '12\u202f345',
    ])
    expect(await page.getByText('not stated').count()).to.equal(0)
    expect(await obstaclesOf(page)).to.deep.equal([])
  })
})
