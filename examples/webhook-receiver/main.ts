import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'

import { createPaymentsClient, verifyWebhook } from 'quittance/client'

const { url, groupA } = JSON.parse(readFileSync('.quittance/ready.json', 'utf8'))
const payments = createPaymentsClient({ baseUrl: url, apiKey: groupA.apiKey })
const seen = new Set<string>()
let secret = ''

const server = createServer((request, response) => {
  receive(request).then(
    () => response.writeHead(204).end(),
    (error: Error) => response.writeHead(400).end(error.message),
  )
})
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
const { port } = server.address() as { port: number }

const subscription = await payments.subscriptions.create({ url: `http://127.0.0.1:${port}/hook` })
secret = subscription.secret ?? ''
console.log(`subscribed as ${subscription.id}`)

async function receive(request: IncomingMessage): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  // The exact bytes: JSON that was parsed and written again has another signature.
  const body = Buffer.concat(chunks)
  const { id, notificationType } = await verifyWebhook(
    { body, headers: request.headers },
    { secrets: [secret] },
  )
  // A notification can arrive more than once.
  if (seen.has(id)) return
  seen.add(id)
  console.log(`received ${notificationType}`)
}
