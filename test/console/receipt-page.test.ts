import { readFileSync } from 'node:fs'

import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { formatAmount } from '../../src/domain/money.ts'
import { insertReceipt } from '../../src/store/transactions/receipts.ts'
import { randomToken } from '../fixtures/api/admin-api.ts'
import { describeInChromium } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describeInChromium('the receipt page when something fails', (chromium) => {
  let opened: OpenConsole
  let page: Page
  const token = randomToken()
  const complaints: string[] = []

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
    page.on('pageerror', (error) => complaints.push(error.message))
    const { db, alice } = opened.admin
    const { transactionId } = await makeTransaction(db, { userId: alice.id })
    const quittance = readFileSync('test/data/quittance.json', 'utf8')
    await insertReceipt(db, { token, transactionId, quittance })
    await show()
    await isShown()
  })

  after(() => opened?.close())
  afterEach(() => expect(complaints).to.deep.equal([]))

  const show = () => page.goto(`${opened.url}/r/${token}`)
  const isShown = () => page.getByRole('heading', { name: 'Verify it yourself' }).waitFor()
  const alert = () => page.getByRole('alert')

  for (const [status, todo] of [
    [404, 'Ask the sender'],
    [500, 'Try again in a moment'],
    [503, 'Try again in a moment'],
  ] as const) {
    it(`says what to do where its parts are answered with ${status}`, async () => {
      await page.route(/\/r\/.*\.json$/, (route) => route.fulfill({ status, json: { error: 'X' } }))
      await show()
      await alert().getByText(todo).waitFor()
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByRole('button', { name: 'Try again' }).click()
      await isShown()
    })
  }

  it('says that a chosen file is gone, and can verify again', async () => {
    await show()
    await isShown()
    await page.evaluate("File.prototype.text = () => Promise.reject(new Error('it is gone'))")
    await page.getByLabel('Ethereum node').fill('http://127.0.0.1:9')
    await page.getByLabel(/Another quittance/).setInputFiles('test/data/quittance.json')
    await page.getByRole('button', { name: 'Verify' }).click()
    await alert().getByText('Choose it again').waitFor()
    expect(await page.getByRole('button', { name: 'Verify', exact: true }).isEnabled()).to.equal(
      true,
    )
  })

  it('refuses a receipt of another payee, in ETH and with its caveats', async () => {
    const { payment, transaction } = JSON.parse(readFileSync('test/data/quittance.json', 'utf8'))
    const { payee, token, reference, amount, contract } = payment
    const facts = {
      eth_transaction_hash: transaction.hash,
      amount_decimal: formatAmount({ amount: BigInt(amount), decimals: 18 }),
      currency: 'ETH',
      description: '',
      paid: { to_address: payee, amount_units: amount, token, reference, contract },
    }
    const verify = async (paid: object) => {
      const json = { ...facts, paid: { ...facts.paid, ...paid } }
      await page.route(/\/receipt\.json$/, (route) => route.fulfill({ json }))
      await show()
      await isShown()
      await page.getByLabel('Ethereum node').fill('http://127.0.0.1:9')
      await page.getByRole('button', { name: 'Verify', exact: true }).click()
    }
    await verify({})
    await page.getByText(`${facts.amount_decimal} ETH to ${payee}.`).waitFor()
    await page.getByText('Not yet.').waitFor()
    await page.getByText(`only if ${contract} is the contract that you mean`).waitFor()
    const other = `0x${'0b'.repeat(20)}`
    await verify({ to_address: other })
    await page.getByText(`The payee is ${payee}, not ${other}.`).waitFor()
    await page.getByText('Refused.').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
  })
})
