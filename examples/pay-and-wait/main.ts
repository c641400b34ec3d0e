import { readFileSync } from 'node:fs'

import { createPlatform, NotSettledError } from 'quittance'

const { url, rpcUrl, groupB } = JSON.parse(readFileSync('.quittance/ready.json', 'utf8'))
const platform = createPlatform({
  baseUrl: url,
  apiKey: groupB.apiKey,
  providers: [rpcUrl],
  confirmations: 2,
})

const payment = await platform.blockchain.send(
  {
    to_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    amount: '0.01',
    description: 'Invoice 42',
    use_contract: true,
    external_id: 'pay-and-wait',
  },
  { idempotencyKey: 'pay-and-wait' },
)
console.log(`accepted ${payment.transaction_id}`)

try {
  const { verdict } = await payment.settled({ timeoutMs: 120_000 })
  console.log(`${verdict.status}: ${verdict.evidence?.amountText}`)
} catch (error) {
  if (!(error instanceof NotSettledError)) throw error
  console.log(`not settled: ${error.message}`)
  process.exitCode = 1
}
