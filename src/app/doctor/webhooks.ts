import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'

import type { Config } from '../../base/config.ts'
import { messageOf } from '../../base/errors.ts'
import type { Address } from '../../webhooks/address.ts'
import { createTargets, resolveByDns, type Target } from '../../webhooks/targets.ts'
import type { Report } from './finding.ts'

/** Whether a webhook could leave this machine, up to the connection and the certificate. */
export async function checkWebhooks(asking: {
  config: Config
  webhookUrl?: string | undefined
  signal: AbortSignal
  report: Report
}): Promise<void> {
  const { config, webhookUrl, signal, report } = asking
  if (webhookUrl === undefined) {
    const message = 'the way out for webhooks is not checked'
    report({ status: 'skipped', message, remedy: 'Name a receiver: --webhook https://…' })
    return
  }
  const { environment, host } = config
  const targets = createTargets({ environment, host, resolve: resolveByDns })
  try {
    const target = targets.read(webhookUrl)
    const addresses = await targets.locate(target, AbortSignal.any([signal, timeLimit()]))
    await connect(target, addresses)
    report({ status: 'ok', message: `${target.host} accepts a connection from here` })
  } catch (error) {
    report({
      status: 'problem',
      message: `no webhook reaches ${webhookUrl} from here: ${messageOf(error)}`,
      remedy: 'Check the name, the certificate, and the firewall on the way out.',
    })
  }
}

const LIMIT_MS = 5_000

function timeLimit(): AbortSignal {
  return AbortSignal.timeout(LIMIT_MS)
}

/** Tries the first address only, and sends nothing. */
function connect({ url, host }: Target, [first]: readonly Address[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const isTls = url.protocol === 'https:'
  const port = Number(url.port || (isTls ? 443 : 80))
  const where = { host: first?.address ?? host, port, timeout: LIMIT_MS }
  const socket = isTls ? connectTls({ ...where, servername: host }) : connectTcp(where)
  socket.once(isTls ? 'secureConnect' : 'connect', () => resolve())
  socket.once('error', reject)
  socket.once('timeout', () => reject(new Error(`there is no answer within ${LIMIT_MS / 1000} s`)))
  return promise.finally(() => socket.destroy())
}
