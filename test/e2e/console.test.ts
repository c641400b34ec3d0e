import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { encodeFunctionData } from 'viem'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { settlementAbi } from '../../src/bindings/abis.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { upHere, type AppHere } from '../fixtures/api/running-app.ts'
import {
  describeInChromium,
  obstaclesOf,
  pagesInPrint,
  startBrowser,
} from '../fixtures/console/browser.ts'
import { workByKeys } from '../fixtures/console/keyboard.ts'
import { expectForEverybody, expectToFit } from '../fixtures/console/looks.ts'
import { readReference } from '../fixtures/console/reference.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { ARABIC, EVIL, poison, showTheRest } from '../fixtures/hostile.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const NAMES =
  'transactions payments breaks runs wallets deliveries users keys mints redeems wires disputes'
const LISTS = ['', ...`${NAMES} alerts endpoints providers signers batches`.split(' ')]

describeInChromium('the console in a browser', (chromium) => {
  let folder: ReturnType<typeof temporaryFolder>
  let app: AppHere
  let facts: ReadyFacts
  let browser: Browser
  let page: Page
  let miner: NodeJS.Timeout | undefined
  const complaints: string[] = []

  before(async () => {
    folder = temporaryFolder()
    const data = join(folder.path, 'data')
    fillDataFolder(data)
    const starting = upHere({ QUITTANCE_DATA: data, QUITTANCE_BLOCK_MS: '200' })
    ;[app, browser] = await Promise.all([starting, startBrowser(chromium)])
    ;({ facts } = app)
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    page.setDefaultTimeout(20_000)
    page.on('pageerror', (error) => complaints.push(error.message))
  })

  after(async () => {
    clearInterval(miner)
    await browser?.close()
    await app?.stop()
    folder.remove()
  })

  const ask = async (path: string, body?: unknown, key = facts.groupB?.apiKey ?? '') => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetchInTurn(`${facts.url}${path}`, { headers, ...init })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  const pay = async (description: string): Promise<string> => {
    const order = { to_address: `0x${'0'.repeat(38)}aa`, amount: '0.000000000000000001' }
    const path = '/api/blockchain/transactions'
    const paid = await ask(path, { ...order, description, use_contract: true })
    return paid.body['transaction_id'] ?? ''
  }
  const rpc = (method: string, ...params: unknown[]) =>
    callRpc({ url: facts.rpcUrl, method, params })
  /** Pays through the contract, from an address whose key the chain does not ask for. */
  const settle = async (payment: {
    from: string
    reference: string
    payee: string
    wei: bigint
  }) => {
    const { from, reference, payee, wei } = payment
    const args = [reference as `0x${string}`, payee as `0x${string}`] as const
    const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settle', args })
    await rpc('anvil_impersonateAccount', from)
    const value = `0x${wei.toString(16)}`
    await rpc('eth_sendTransaction', { from, to: facts.settlement, data, value })
    await rpc('anvil_stopImpersonatingAccount', from)
  }
  /** What the checkout's page has a wallet pay. */
  const callOf = async () => {
    const link = await page.getByRole('link', { name: 'Pay with a wallet' }).getAttribute('href')
    const call = /settle\?bytes32=(\w+)&address=(\w+)&value=(\d+)$/.exec(link ?? '')
    const [, reference = '', payee = '', wei = ''] = call ?? []
    const from = `0x${randomBytes(20).toString('hex')}`
    await rpc('anvil_setBalance', from, `0x${(10n ** 18n).toString(16)}`)
    return { from, reference, payee, wei: BigInt(wei) }
  }
  const fits = (what: string) => expectToFit(page, what)
  const isForEverybody = (what: string) => expectForEverybody(page, what)
  /** Each list, and one of what stands in it, with the ids that are there by now. */
  const allScreens = async (): Promise<string[]> => {
    const first = async (path: string, list: string, id: string): Promise<string> => {
      const { body } = await ask(path, undefined, facts.admin?.apiKey)
      const [one] = body[list] as unknown as Array<Record<string, string>>
      return one?.[id] ?? ''
    }
    const transaction = await first('/api/admin/transactions', 'transactions', 'transaction_id')
    const found = await first('/api/breaks?state=closed', 'breaks', 'id')
    const wallet = await first('/api/admin/wallets', 'wallets', 'wallet_id')
    const ones = [`transactions/${transaction}`, `breaks/${found}`, `wallets/${wallet}`]
    return [...LISTS, ...ones, 'breaks?state=closed', 'payments/TX0', 'elsewhere']
  }
  const open = (hash: string) => page.goto(`${facts.console}#/${hash}`)
  const sees = (text: string | RegExp, state: 'visible' | 'detached' = 'visible') =>
    page.getByText(text).first().waitFor({ state })
  /** Comes from elsewhere, and waits for all of it. */
  const show = async (screen: string): Promise<void> => {
    await open('elsewhere')
    await sees('This page does not exist')
    if (screen === 'elsewhere') return
    await open(screen)
    await sees('This page does not exist', 'detached')
    await sees(/^Loading/, 'detached')
  }

  it('lets an operator in by password, and nobody else', async () => {
    await page.goto(facts.console ?? '')
    const enter = async (username: string, password: string) => {
      await page.getByLabel('Username').fill(username)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    expect(await obstaclesOf(page)).to.deep.equal([])
    await enter('demo-admin', 'not the password')
    await sees(/wrong/)
    await enter('demo', facts.groupB?.password ?? '')
    await sees(/needs the scope admin/)
    await enter(facts.admin?.username ?? '', facts.admin?.password ?? '')
    await sees('The books and the chain agree.')
    expect(await page.evaluate('localStorage.length')).to.equal(0)
  })

  it('asks again where the session has ended, and goes on from there', async () => {
    const isAsked = (url: URL) => url.pathname === '/api/admin/keys'
    await page.route(isAsked, (route) => route.fulfill({ status: 401, json: {} }), { times: 1 })
    await open('keys')
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.getByLabel('Password').fill(facts.admin?.password ?? '')
    await page.keyboard.press('Enter')
    await page.getByRole('row').filter({ hasText: 'demo nested' }).waitFor()
    expect(await dialog.count()).to.equal(0)
  })

  it('shows a payment as it is made, and text of others as text', async () => {
    await open('transactions')
    await sees('There are no transactions yet')
    const id = await pay(EVIL)
    await page.getByRole('button', { name: /Show 1 new/ }).click()
    await page.getByRole('link', { name: id }).waitFor()
    await sees(EVIL)
    expect(await page.title()).to.equal('Transactions · Quittance')
  })

  it('says why a payment is pending, and sees it through', async () => {
    await rpc('evm_setIntervalMining', 0)
    const id = await pay(ARABIC)
    await open('transactions')
    await page.getByLabel('Find').fill(id)
    await page.getByRole('button', { name: 'Apply' }).click()
    await sees(/Pending: waiting for (block|turn)/)
    // The chain itself counts in whole seconds, which is longer than anybody needs to wait here.
    miner = setInterval(() => void rpc('evm_mine').catch(() => undefined), 200)
    await sees('Final on chain')
    await sees('Completed')
  })

  it('gives a receipt that the payee verifies, and refuses a tampered one', async () => {
    const id = await pay('a receipt')
    await open(`transactions/${id}`)
    await page.getByRole('button', { name: 'Create a receipt' }).click()
    const path = await page.getByRole('link', { name: 'the receipt' }).getAttribute('href')
    await page.goto(`${facts.url}${path}`)
    await page.getByRole('button', { name: 'Verify' }).click()
    await sees('It holds.')
    await isForEverybody('the receipt')
    expect(await pagesInPrint(page)).to.equal(1)
    const waiting = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download the quittance' }).click()
    const text = readFileSync(await (await waiting).path(), 'utf8')
    const file = join(folder.path, 'tampered.json')
    writeFileSync(file, text.replace('"amount": "1"', '"amount": "9"'))
    await page.getByLabel(/Another quittance/).setInputFiles(file)
    await page.getByRole('button', { name: 'Verify' }).click()
    await sees('Refused.')
    const unknown = await page.goto(`${facts.url}/r/${'a'.repeat(43)}`)
    expect(unknown?.status()).to.equal(404)
    await sees('This receipt does not exist')
  })

  it('is worked without a mouse, and shows where the keys go', async () => {
    await workByKeys(browser, facts, await pay('by the keyboard'))
  })

  it('runs a reconciliation and shows what it found', async () => {
    await open('runs')
    await page.getByRole('button', { name: 'Run now' }).click()
    await page
      .getByRole('row')
      .filter({ hasText: facts.admin?.username ?? '' })
      .getByText('Completed')
      .waitFor()
    await open('breaks')
    await sees(/No break is open/)
  })

  it('shows a fault that is injected, and closes the break with a note', async () => {
    const from = facts.groupB?.address ?? ''
    const reference = `0x${randomBytes(32).toString('hex')}`
    await settle({ from, reference, payee: `0x${'0'.repeat(38)}bb`, wei: 7n })
    // A run looks at what is final.
    await rpc('anvil_mine', '0x4')
    await open('runs')
    await page.getByRole('button', { name: 'Run now' }).click()
    const runs = page.getByRole('row').filter({ hasText: facts.admin?.username ?? '' })
    await runs.nth(1).waitFor()
    await runs.first().getByText('Completed').waitFor()
    await open('breaks')
    await page.getByRole('link', { name: 'Unknown outgoing' }).click()
    await page.getByRole('row').filter({ hasText: reference }).waitFor()
    await page.getByLabel('Why it can be closed').fill('Paid by hand, by the treasurer')
    await page.getByRole('button', { name: 'Close with this note' }).click()
    await sees('It is closed.')
    // The payer's balance may be another break by now.
    await open('breaks?kind=unknown_outgoing')
    await sees('No break is open')
    await open('breaks?state=closed')
    await page.getByRole('link', { name: 'Unknown outgoing' }).waitFor()
  })

  it('takes a payment at the crypto checkout, and says so by itself', async () => {
    const order = { gateway_id: 2, amount: '0.25', currency: 'ETH', description: EVIL }
    const charge = await ask('/api/payments', order)
    await page.goto(charge.body['hosted_url'] ?? '')
    await sees('0.25 ETH')
    await sees(EVIL)
    await sees('This page is live.')
    await isForEverybody('the checkout')
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.getByRole('button', { name: 'Copy contract' }).click()
    await page.getByRole('button', { name: 'Selected; copy it by hand: contract' }).waitFor()
    expect(await page.evaluate('`${getSelection()}`')).to.equal(facts.settlement)
    await settle(await callOf())
    await sees('This is paid. Thank you.')
    expect(await page.title()).to.equal('Paid 0.25 ETH · Quittance')
    await isForEverybody('the paid checkout')
    const unknown = await page.goto(`${facts.url}/checkout/REF${'0'.repeat(20)}`)
    expect(unknown?.status()).to.equal(404)
    await sees('This payment does not exist')
    const path = `/api/payments/${charge.body['transaction_id']}/status`
    expect((await ask(path)).body).to.include({ status: 'completed', gateway_status: 'COMPLETED' })
  })

  it('lets an operator accept a payment that came as less, with a note', async () => {
    const order = { gateway_id: 2, amount: '0.25', currency: 'ETH', description: ARABIC }
    const { body } = await ask('/api/payments', order)
    const id = body['transaction_id'] ?? ''
    await page.goto(body['hosted_url'] ?? '')
    const call = await callOf()
    await settle({ ...call, wei: call.wei - 1n })
    await open('')
    await sees('1 payment to accept or refuse.')
    await open(`transactions/${id}`)
    await page.getByRole('link', { name: 'Accept or refuse it' }).click()
    await sees('The payment is short.')
    await page.getByText('0.249999999999999999').first().waitFor()
    await page
      .getByRole('definition')
      .filter({ hasText: /^0\.000000000000000001 ETH$/ })
      .waitFor()
    await isForEverybody('a payment to decide')
    await page.getByLabel('Why').fill('A wei is no reason to write a letter')
    await page.getByRole('radio', { name: 'Accept' }).check()
    await page.getByRole('button', { name: 'Decide' }).click()
    await sees('Accepted.')
    await page.getByRole('link', { name: 'All payments to decide' }).click()
    await sees('No payment waits for a decision')
    await open(`transactions/${id}`)
    await sees(/Accepted by hand: less than the amount arrived.*A wei is no reason/)
    const { body: known } = await ask(`/api/payments/${id}/status`)
    expect(known).to.include({ status: 'completed', gateway_status: 'RESOLVED' })
  })

  it('replays a webhook', async () => {
    let count = 0
    const receiver = createServer((request, response) => {
      if (request.method === 'POST') count += 1
      response.end()
    })
    await new Promise<void>((ready) => receiver.listen(0, '127.0.0.1', ready))
    const { port } = receiver.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/hook`
    expect((await ask('/v1/notifications/subscriptions', { url })).status).to.equal(201)
    await open('deliveries')
    await page.getByRole('row').filter({ hasText: url }).getByText('Delivered').first().waitFor()
    const before = count
    await page
      .getByRole('row')
      .getByRole('button', { name: /Replay/ })
      .first()
      .click()
    await until(async () => count > before)
    receiver.close()
  })

  it('revokes a key, which is out at once', async () => {
    const key = facts.groupA?.nestedApiKey ?? ''
    expect((await ask('/api/transactions', undefined, key)).status).to.equal(200)
    await open('keys')
    await page.getByRole('button', { name: 'Revoke demo nested' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await sees('Revoked')
    expect((await ask('/api/transactions', undefined, key)).status).to.equal(401)
  })

  it('shows what moved between wallets, and who was told', async () => {
    const wallets = (await ask('/v1/wallets')).body['data'] as unknown as { walletId: string }[]
    const [source, destination] = wallets.map(({ walletId: id }) => ({ type: 'wallet', id }))
    const transfer = { source, destination, amount: '12.50' }
    expect((await ask('/v1/transfers', transfer)).status).to.equal(201)
    await open('wallets')
    await page
      .getByRole('link', { name: /^\d{10}$/ })
      .first()
      .click()
    const link = page.getByRole('row').filter({ hasText: 'Transfer' }).getByRole('link').last()
    await link.click()
    await page.getByRole('row').filter({ hasText: '12.50' }).waitFor()
    await sees(/Transfers to/)
  })

  it('has a reference that is there within two seconds, and an explorer behind it', () =>
    readReference(browser, facts.url ?? ''))

  it('is for everybody: every screen, narrow and wide, light and dark', async () => {
    for (const screen of await allScreens()) {
      await show(screen)
      await isForEverybody(screen)
    }
  })

  it('holds its form and runs nothing, whatever others have written', async () => {
    const screens = await allScreens()
    const restore = await poison(page)
    for (const screen of screens) {
      await show(screen)
      await fits(`${screen} with hostile text`)
      expect(await page.title()).to.match(/ · Quittance$/)
      expect(await page.locator('main :is(img, script)').count()).to.equal(0)
    }
    await show(screens.find((screen) => screen.startsWith('wallets/')) ?? '')
    await showTheRest(page)
    await restore()
  })

  it('says what it does while it waits, and what to do when the platform fails', async () => {
    const isAsked = (url: URL) => url.pathname.startsWith('/api/')
    await page.route(isAsked, () => undefined)
    for (const screen of LISTS) {
      await open(screen)
      await sees(/^Loading/)
      await fits(`${screen} while it waits`)
    }
    const json = { error: 'It broke.', request_id: 'req-1' }
    await page.route(isAsked, (route) => route.fulfill({ status: 500, json }))
    for (const screen of LISTS) {
      await open('elsewhere')
      await open(screen)
      await sees('Request req-1')
      await fits(`${screen} when the platform fails`)
    }
    await isForEverybody('a screen when the platform fails')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await sees('Request req-1', 'detached')
  })

  it('says that the connection is lost when the platform is gone', async () => {
    clearInterval(miner)
    await app.stop()
    await sees(/Connection lost at/)
    expect(complaints).to.deep.equal([])
  })
})
