/** How a simulated party sends a webhook: again and again until somebody says 2xx. */
export type WebhookSender = {
  tell: (news: { webhookUrl?: string }) => void
  send: (message: { headers: Record<string, string>; body: string }) => void
}

const PAUSES_MS = [0, 200, 1000, 5000]

/** Without an address to send to it sends nothing. */
export function createWebhookSender(): WebhookSender {
  let url: string | undefined
  return {
    tell: (news) => void (url = news.webhookUrl ?? url),
    send(message) {
      const to = url
      if (to !== undefined) void deliver(to, message)
    },
  }
}

async function deliver(
  url: string,
  message: { headers: Record<string, string>; body: string },
): Promise<void> {
  for (const pauseMs of PAUSES_MS) {
    await new Promise((later) => setTimeout(later, pauseMs).unref())
    const { headers, body } = message
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: AbortSignal.timeout(5000),
    }).catch(() => undefined)
    if (answer?.ok === true) return
  }
}
