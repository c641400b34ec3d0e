import { request, type Agent } from 'node:http'

/** Posts JSON on a kept connection, for a sixth of the processor that `fetch` takes. */
export function postJson(options: {
  agent: Agent
  url: string
  headers: Readonly<Record<string, string>>
  body: object
}): Promise<{ status: number; text: string }> {
  const { agent, url, headers } = options
  const body = JSON.stringify(options.body)
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        agent,
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
        answer.on('error', reject)
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}
