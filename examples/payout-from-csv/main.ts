import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { createPlatformClient } from 'quittance/client'

const [file] = process.argv.slice(2)
if (!file) throw new Error('Pass the CSV: npx node main.ts payout.csv')
const { url, groupB } = JSON.parse(readFileSync('.quittance/ready.json', 'utf8'))
const { blockchain } = createPlatformClient({ baseUrl: url, apiKey: groupB.apiKey })

const [, ...rows] = readFileSync(file, 'utf8').trim().split('\n')
const items = rows.map((row) => {
  const [to_address = '', amount = '', external_id = ''] = row.split(',')
  return { to_address, amount, external_id }
})
const request = { currency: 'ETH', on_failure: 'each' as const, items }

const { fee_wei: fee } = await blockchain.batches.estimate(request)
console.log(`${items.length} payments; the fee is at most ${BigInt(fee) / 10n ** 9n} gwei`)

const { batch_id: id } = await blockchain.batch(request, { idempotencyKey: `payout-${file}` })
for (let tries = 0; tries < 600; tries++) {
  const { status } = await blockchain.batches.get(id)
  if (status !== 'pending') break
  await sleep(200)
}
for await (const item of blockchain.batches.items(id)) {
  console.log(`${item.external_id} ${item.status} ${item.eth_transaction_hash}`)
}
