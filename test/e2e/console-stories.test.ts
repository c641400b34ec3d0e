import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { upHere, type AppHere } from '../fixtures/api/running-app.ts'
import {
  describeInChromium,
  keepSession,
  obstaclesOf,
  startBrowser,
} from '../fixtures/console/browser.ts'
import { openCheckout, payByPermit, payInSteps } from '../fixtures/console/checkouts.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = `0x${'0'.repeat(38)}aa`

describeInChromium('the stories of an operator', (chromium) => {
  let folder: ReturnType<typeof temporaryFolder>
  let app: AppHere
  let facts: ReadyFacts
  let browser: Browser
  let page: Page
  let receiver: Server
  let paid = { transaction_id: '', eth_transaction_hash: '' }

  before(async () => {
    folder = temporaryFolder()
    const data = join(folder.path, 'data')
    fillDataFolder(data)
    const env = { QUITTANCE_DATA: data, QUITTANCE_BLOCK_MS: '200' }
    const starting = upHere(env, { chains: 2 })
    ;[app, browser] = await Promise.all([starting, startBrowser(chromium)])
    ;({ facts } = app)
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    page.setDefaultTimeout(20_000)
    await keepSession(page.context(), facts.admin?.apiKey ?? '')
    receiver = createServer((request, response) => request.resume().on('end', () => response.end()))
    await new Promise<void>((ready) => receiver.listen(0, '127.0.0.1', ready))
    const { port } = receiver.address() as AddressInfo
    await ask('/v1/notifications/subscriptions', { url: `http://127.0.0.1:${port}/hook` })
    const rent = { description: 'Rent of the office', external_id: 'lease-7' }
    paid = await pay({ ...rent, amount: '0.0123' })
  })

  after(async () => {
    receiver?.close()
    await browser?.close()
    await app?.stop()
    folder.remove()
  })

  const ask = async (path: string, body?: unknown, key = facts.groupB?.apiKey ?? '') => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetchInTurn(`${facts.url}${path}`, { headers, ...init })
    return (await response.json()) as Record<string, string>
  }
  const pay = async (payment: Record<string, string>) => {
    const order = { to_address: PAYEE, use_contract: true, description: 'Paid', ...payment }
    return (await ask('/api/blockchain/transactions', order)) as typeof paid
  }
  const rpc = (method: string, ...params: unknown[]) =>
    callRpc({ url: facts.rpcUrl, method, params })
  const open = async (hash: string): Promise<void> => {
    await page.goto(`${facts.console}#/${hash}`)
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  const sees = (text: string | RegExp) => page.getByText(text).first().waitFor()
  /** Types into the search and takes the first result, all by keys. */
  const findByKeys = async (opener: string, text: string, result: string | RegExp) => {
    await page.keyboard.press(opener)
    await page.getByRole('combobox', { name: 'Search for anything' }).waitFor()
    await page.keyboard.type(text)
    await page.getByRole('option').filter({ hasText: result }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  const isAt = (hash: string) => page.waitForURL((url) => url.hash === `#/${hash}`)

  it('finds a payment by a part of its description, by keys alone', async () => {
    await open('')
    await findByKeys('/', 'of the off', 'Rent of the office')
    await isAt(`transactions/${paid.transaction_id}`)
  })

  it('finds a payment by its hash, by keys alone', async () => {
    const hash = paid.eth_transaction_hash.toUpperCase().replace('0X', '0x')
    await findByKeys('Control+k', hash, 'Rent')
    await isAt(`transactions/${paid.transaction_id}`)
  })

  it('finds a payment by the address that it pays, by keys alone', async () => {
    await open('')
    await findByKeys('/', PAYEE, 'Rent of the office')
    await isAt(`transactions/${paid.transaction_id}`)
  })

  it('finds a payment by its id in any case, by keys alone', async () => {
    await open('breaks')
    await findByKeys('/', paid.transaction_id.toLowerCase(), 'Rent of the office')
    await isAt(`transactions/${paid.transaction_id}`)
  })

  it('finds a payment by its external id, by keys alone', async () => {
    await open('')
    await findByKeys('/', 'lease-7', 'Rent of the office')
    await isAt(`transactions/${paid.transaction_id}`)
  })

  it('finds a payment by its amount, by keys alone', async () => {
    await open('')
    await findByKeys('/', '0.0123', 'Rent of the office')
    await isAt(`transactions/${paid.transaction_id}`)
  })

  it('finds what a user did by the beginning of the name, by keys alone', async () => {
    await open('')
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search for anything' }).waitFor()
    await page.keyboard.type('demo')
    const user = page.getByRole('option').filter({ hasText: /^Userdemo/ })
    await user.first().waitFor()
    for (const key of ['ArrowDown', 'ArrowUp', 'Enter']) await page.keyboard.press(key)
    await page.waitForURL(/user_id=\d+/)
  })

  it('finds a screen by the beginning of its title, by keys alone', async () => {
    await open('')
    await findByKeys('/', 'prov', 'Providers')
    await isAt('providers')
    await page.getByRole('row').filter({ hasText: 'Well' }).waitFor()
  })

  it('closes the search by Escape, and lets a field take a slash, by keys alone', async () => {
    await open('transactions')
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search for anything' }).waitFor()
    expect(await obstaclesOf(page)).to.deep.equal([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByLabel('Metadata').focus()
    await page.keyboard.type('a=b/c')
    expect(await page.getByRole('dialog').count()).to.equal(0)
    expect(await page.getByLabel('Metadata').inputValue()).to.equal('a=b/c')
  })

  it('changes the theme and the zone of times, and keeps both, by keys alone', async () => {
    await page.emulateMedia({ colorScheme: 'light' })
    await open(`transactions/${paid.transaction_id}`)
    await page.getByRole('button', { name: /^Theme/ }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Times/ }).focus()
    await page.keyboard.press('Enter')
    await page.reload()
    await page.getByRole('button', { name: 'Times: UTC' }).waitFor()
    expect(await page.evaluate('document.documentElement.dataset.theme')).to.equal('dark')
    expect(await obstaclesOf(page)).to.deep.equal([])
    await page.evaluate('localStorage.clear()')
  })

  it('begins the page of a payment with amount, status and actions', async () => {
    await open(`transactions/${paid.transaction_id}`)
    await sees('Final on chain')
    const hero = page.locator('.hero')
    expect(await hero.innerText())
      .to.include('0.0123')
      .and.include('Completed')
    const titles = await page.locator('.timeline .title').allInnerTexts()
    expect(titles.map((title) => title.replace(/\s*\d{4}-.*/s, '')).join(', ')).to.equal(
      'Recorded, Payment signed, Payment sent, In a block, Processing, Final on chain, Completed',
    )
    await sees('Fee paid')
  })

  it('checks one payment again, and says what came of it', async () => {
    await open(`transactions/${paid.transaction_id}`)
    await sees('Final on chain')
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.getByRole('link', { name: 'See the run' }).click()
    await sees('Reconciliation run')
    const waiting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the report' }).click()
    const report = JSON.parse(readFileSync(await (await waiting).path(), 'utf8')) as {
      run: Record<string, unknown>
    }
    expect(report.run['requested_by']).to.match(/^user:\d+$/)
  })

  it('sends a payment after a summary, and the history says who did', async () => {
    await open('send')
    await page.getByLabel('To address').fill(PAYEE)
    await page.getByLabel('Amount').fill('0.5')
    await page.getByLabel('Description').fill('Sent from the console')
    await page.getByRole('button', { name: 'Review' }).click()
    await sees('Settlement contract, paid once')
    expect(await obstaclesOf(page)).to.deep.equal([])
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.waitForURL(/#\/transactions\/TX\d+$/)
    await sees(/, by demo-admin/)
    await sees('Final on chain')
  })

  it('sends a batch from a CSV file after a preview, and refuses a bad one', async () => {
    await open('send/batch')
    const file = join(folder.path, 'batch.csv')
    writeFileSync(file, `to_address,amount\n${PAYEE},0.01\nnobody,1\n`)
    await page.getByLabel(/CSV file/).setInputFiles(file)
    await sees('Line 3: nobody is not an address.')
    const line = (byte: string): string => `0x${byte.repeat(20)},0.01,Salary,sal-${byte}\n`
    const lines = ['a1', 'a2', 'a3'].map(line).join('')
    const good = join(folder.path, 'good.csv')
    writeFileSync(good, `to_address,amount,description,external_id\n${lines}`)
    await page.getByLabel(/CSV file/).setInputFiles(good)
    await page.getByRole('definition').filter({ hasText: '0.03 ETH' }).waitFor()
    await page.getByRole('button', { name: 'Estimate the fee' }).click()
    await sees('Fee at most')
    await page.getByRole('button', { name: 'Send 3 payments' }).click()
    await page.waitForURL(/#\/batches\/BAT\d+$/)
    await sees('sal-a2')
  })

  it('mints after a summary, and lists the mint', async () => {
    await open('mints')
    await page.getByRole('link', { name: 'Mint', exact: true }).click()
    await page.getByLabel('To address').fill(PAYEE)
    await page.getByLabel('Amount in USD').fill('12')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('definition').filter({ hasText: '12.00 USD' }).waitFor()
    await ask('/v1/businessAccount/transfers', {
      amount: '7.00',
      currency: 'USD',
      destination: { type: 'blockchain', address: PAYEE, chain: 'ETH' },
    })
    await open('mints')
    await page.getByRole('row').filter({ hasText: '7.00' }).waitFor()
  })

  it('refunds a part of a card payment after a summary', async () => {
    const order = { gateway_id: 1, amount: '20.00', currency: 'USD', description: 'By card' }
    const made = await ask('/api/payments', order)
    const { client_secret = '', payment_intent_id: intent, transaction_id: id } = made
    const path = `/v1/payment_intents/${intent}/confirm`
    await fetch(`${facts.simulators?.['card']}${path}`, {
      method: 'POST',
      body: new URLSearchParams({ client_secret, payment_method: 'pm_card_visa' }),
    })
    await open(`transactions/${id}`)
    await page.getByRole('button', { name: 'Refund' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/Amount in USD/).fill('5')
    await dialog.getByRole('button', { name: 'Review' }).click()
    await dialog.getByText('It cannot be undone.').waitFor()
    await dialog.getByRole('button', { name: 'Refund' }).click()
    await sees('Partly refunded')
  })

  it('opens a tab that is signed in by Ctrl-click anywhere on a row', async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    const first = await context.newPage()
    await first.goto(facts.console ?? '')
    await first.getByLabel('Username').fill(facts.admin?.username ?? '')
    await first.getByLabel('Password').fill(facts.admin?.password ?? '')
    await first.keyboard.press('Enter')
    await first.getByRole('heading', { name: 'Overview' }).waitFor()
    await first.goto(`${facts.console}#/transactions`)
    const waiting = context.waitForEvent('page')
    await first.getByText('Rent of the office').click({ modifiers: ['Control'], force: true })
    const second = await waiting
    await second.getByText('Timeline').waitFor()
    expect(second.url()).to.include(paid.transaction_id)
    await context.close()
  })

  it('chooses columns, which stand in the address, and exports what is shown', async () => {
    await open('transactions')
    await page.getByText('Columns', { exact: true }).first().click()
    await page.getByRole('checkbox', { name: 'Hash' }).check()
    await page.waitForURL(/columns=.*Hash/)
    await page.getByRole('columnheader', { name: 'Hash' }).waitFor()
    const waiting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export what is shown' }).click()
    const text = readFileSync(await (await waiting).path(), 'utf8')
    expect(text).to.include(paid.eth_transaction_hash).and.include('"Rent of the office"')
  })

  it('filters by the name of a user, and says where nobody has it', async () => {
    await open('transactions')
    await page.getByLabel('User').fill('demo')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForURL(/user_id=\d+/)
    await sees('Rent of the office')
    await page.getByLabel('User').fill('nobody-at-all')
    await page.getByRole('button', { name: 'Apply' }).click()
    await until(async () =>
      page.evaluate<boolean>("document.querySelector('[name=user]').validity.customError"),
    )
  })

  it('returns to the place in a list', async () => {
    const order = { gateway_id: 1, amount: '1.00', currency: 'USD' }
    for (let one = 0; one < 30; one += 1)
      await ask('/api/payments', { ...order, description: `Order ${one}` })
    await open('transactions')
    await sees('Order 29')
    const region = page.getByRole('region', { name: /Transactions/ })
    await region.evaluate((element: { scrollTop: number }) => void (element.scrollTop = 400))
    await page.getByText('Order 15', { exact: true }).click({ force: true })
    await sees('Timeline')
    await page.goBack()
    await sees('Order 15')
    expect(await region.evaluate((element: { scrollTop: number }) => element.scrollTop)).to.equal(
      400,
    )
  })

  it('shows what a webhook sends and what came of it, and replays many at once', async () => {
    await open('deliveries')
    await page
      .getByRole('link', { name: /^(Transfers|Payments|Ping)/ })
      .first()
      .click()
    await sees('webhook-signature')
    await sees(/"notificationType"/)
    await page.getByRole('row').filter({ hasText: 'Delivered' }).first().waitFor()
    expect(await obstaclesOf(page)).to.deep.equal([])
    await open('deliveries')
    await page.getByRole('row').nth(1).waitFor()
    await page.getByRole('button', { name: 'Choose all on this page' }).click()
    await page.getByRole('button', { name: /^Replay [1-9]\d* deliver/ }).click()
    await page.getByRole('button', { name: 'Replay 0 deliveries' }).waitFor()
    await open('endpoints')
    await page.getByRole('row').filter({ hasText: '/hook' }).getByText('Confirmed').waitFor()
  })

  it('shows a payment on the second chain of the sandbox', async () => {
    await open(`transactions/${(await pay({ chain: 'local2', amount: '0.01' })).transaction_id}`)
    await Promise.all([sees('Final on chain'), sees('local2')])
  })

  it('says what a break means and what to do, and filters by kind and amount', async () => {
    const from = facts.groupB?.address ?? ''
    await rpc('anvil_impersonateAccount', from)
    await rpc('eth_sendTransaction', { from, to: PAYEE, value: '0x7' })
    await rpc('anvil_stopImpersonatingAccount', from)
    await rpc('anvil_mine', '0x4')
    await ask('/api/runs', {}, facts.admin?.apiKey)
    await open('breaks?kind=unknown_outgoing')
    await page.getByRole('link', { name: 'Unknown outgoing' }).first().click()
    await sees('A transaction of one of our signers that nobody recorded.')
    await sees(/treat the key of the signer as stolen/)
    await open('breaks?kind=missing')
    await sees('No break is open')
    await open('breaks?min_amount=1000')
    await sees('No break is open')
  })

  it('says at the checkout that a payment is seen, and takes the button away', async () => {
    const buyer = await openCheckout(browser, { rpc, ask })
    await rpc('evm_setIntervalMining', 0)
    await buyer.getByRole('button', { name: 'Pay with Test wallet' }).click()
    await buyer.getByText(/^Sent\./).waitFor()
    await rpc('evm_mine')
    await buyer.getByText('Payment seen, waiting to be final.').waitFor()
    expect(await buyer.getByRole('link', { name: 'Pay with a wallet' }).count()).to.equal(0)
    expect(await obstaclesOf(buyer)).to.deep.equal([])
    const miner = setInterval(() => void rpc('evm_mine').catch(() => undefined), 200)
    await buyer.getByText('This is paid. Thank you.').waitFor()
    clearInterval(miner)
    await rpc('evm_setIntervalMining', 1)
    await buyer.close()
  })

  it('says at the checkout what a wallet refuses, and lets the payer try again', async () => {
    const buyer = await openCheckout(browser, { rpc, ask }, { refuses: true })
    const button = buyer.getByRole('button', { name: 'Pay with Test wallet' })
    await button.click()
    await buyer.getByText('Test wallet did not send it: The user refused.').waitFor()
    expect(await button.isEnabled()).to.equal(true)
    await buyer.close()
  })

  it('takes dollars at the checkout by one signature and one transaction', () =>
    payByPermit(browser, { rpc, ask, dollar: facts.stablecoin ?? '' }))

  it('sends a payer whose account signs no permits to the two steps', () =>
    payInSteps(browser, { rpc, ask, dollar: facts.stablecoin ?? '' }))
})
