import { setTimeout as sleep } from 'node:timers/promises'

import { ApiError, createPaymentsClient, createPlatformClient } from 'quittance/client'
import { createLogger, parseConfig, startApp } from 'quittance/server'

import { bank, gateway, redeem, screen, signers } from './parts.ts'

const app = await startApp({
  config: parseConfig({ QUITTANCE_DATA: '.service', PORT: '0', ...process.env }),
  role: 'up',
  logger: createLogger({ level: 'warn' }),
  banks: [bank],
  gateways: [gateway],
  signers,
  screen,
})
const { url: baseUrl = '', groupA, groupB } = app.facts
console.log(`serving at ${baseUrl}`)

const payments = createPaymentsClient({ baseUrl, apiKey: groupA?.apiKey ?? '' })
const platform = createPlatformClient({ baseUrl, apiKey: groupB?.apiKey ?? '' })

const wire = await payments.payments.create({
  amount: '10.00',
  currency: 'USD',
  destination: { type: 'wire', name: 'Ada Lovelace', addressLine1: '1 Main Street' },
})
await until('the wire', 'paid', async () => (await payments.payments.get(wire.id)).status)

const order = { gateway_id: gateway.id, amount: '20', currency: 'USD', description: 'Order 7' }
const asked = await platform.payments.create(order)
console.log(`the payer continues at ${asked.approval_url}`)
await redeem(baseUrl, asked.transaction_id)
await until('the voucher', 'completed', () => statusOf(asked.transaction_id))

const invoice = { amount: '0.01', description: 'Invoice 42' }
const to_address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const paid = await platform.blockchain.send({ ...invoice, to_address })
await until('the chain payment', 'completed', () => statusOf(paid.transaction_id))

const listed = '0x000000000000000000000000000000000000dEaD'
await platform.blockchain.send({ ...invoice, to_address: listed }).catch((error: unknown) => {
  if (!(error instanceof ApiError)) throw error
  console.log(`refused: ${error.code}`)
})

const failures = await app.stop()
console.log(`stopped with ${failures.length} failures`)

async function statusOf(transactionId: string): Promise<string> {
  return (await platform.transactions.get(transactionId)).status
}

async function until(what: string, wanted: string, read: () => Promise<string>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const status = await read()
    if (status === wanted) return console.log(`${what} is ${status}`)
    await sleep(200)
  }
  throw new Error(`${what} is not ${wanted} after a minute`)
}
