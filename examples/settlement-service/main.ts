import { setTimeout as sleep } from 'node:timers/promises'

import { createPlatformClient } from 'quittance/client'
import { createLogger, parseConfig, startApp } from 'quittance/server'

// Your program decides the settings. A bank of your own speaks the API of Increase.
const config = parseConfig({ QUITTANCE_DATA: '.service', PORT: '0', ...process.env })
const app = await startApp({ config, role: 'up', logger: createLogger({ level: 'warn' }) })
console.log(`serving at ${app.facts.url}`)

const { url = '', groupB } = app.facts
const platform = createPlatformClient({ baseUrl: url, apiKey: groupB?.apiKey ?? '' })
const { transaction_id: id } = await platform.blockchain.send({
  to_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  amount: '0.01',
  description: 'The first payment of the service',
})
for (let tries = 0; tries < 600; tries++) {
  const { status } = await platform.transactions.get(id)
  if (status === 'completed' || status === 'failed') {
    console.log(`${id} is ${status}`)
    break
  }
  await sleep(200)
}

const failures = await app.stop()
console.log(`stopped with ${failures.length} failures`)
