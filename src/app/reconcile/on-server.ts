import { systemClock } from '../../base/clock.ts'
import { BaseError } from '../../base/errors.ts'
import { exchangeByNode } from '../../chain/rpc/http-node.ts'
import { HttpError, type HttpAnswer } from '../../chain/rpc/http.ts'
import type { Finding } from '../../domain/breaks.ts'
import type { BreakWire, RunWire } from '../../wire/group-b/reconciliation.ts'

/** Where a run over our own records is asked for and followed. */
export type Desk = {
  chainId: number
  begin: (of: { since?: Date | undefined; until?: Date | undefined }) => Promise<RunWire>
  read: (runId: string) => Promise<RunWire>
  /** A page of the open breaks, newest first, behind the cursor of the page before. */
  openBreaks: (cursor: string | undefined) => Promise<{
    findings: Finding[]
    next: string | undefined
  }>
}

type Server = {
  url: string
  chainId: number
  /** As requests name it; undefined for the default one. */
  chain: string | undefined
  apiKey: string
  signal: AbortSignal
}

const TIMEOUT_MS = 30_000
const MAX_ANSWER_BYTES = 16 * 2 ** 20
const PAGE = 100
/** How often a server may say that it is too much, before that is the answer. */
const TRIES = 10
const PAUSE_MS = 1_000

/** The running program does the work. It is asked as an administrator. */
export function createServerDesk(server: Server): Desk {
  return {
    chainId: server.chainId,
    async begin({ since, until }) {
      const { chain } = server
      const json = { chain, since: since?.toISOString(), until: until?.toISOString() }
      const { run } = await ask<{ run: RunWire }>(server, '/api/runs', json)
      return run
    },
    async read(runId) {
      const { run } = await ask<{ run: RunWire }>(server, `/api/runs/${runId}`)
      return run
    },
    async openBreaks(cursor) {
      const query = new URLSearchParams({ state: 'open', limit: String(PAGE) })
      if (server.chain !== undefined) query.set('chain', server.chain)
      if (cursor !== undefined) query.set('cursor', cursor)
      type Page = { breaks: BreakWire[]; next_cursor: string | null }
      const page = await ask<Page>(server, `/api/breaks?${query.toString()}`)
      return { findings: page.breaks.map(findingOf), next: page.next_cursor ?? undefined }
    },
  }
}

/** Waits where the server asks for it. Any other refusal is reported in the server's words. */
async function ask<Answer>(
  { url, apiKey, signal }: Server,
  path: string,
  json?: object,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await exchangeByNode({
      url: `${url}${path}`,
      headers: { 'x-api-key': apiKey },
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      signal,
      ...(json && { json }),
    }).catch((error: unknown) => {
      throw error instanceof HttpError ? refused(url, error.message) : error
    })
    // It is the program of this very version, whose answers its own tests hold to their schema.
    if (answer.ok) return JSON.parse(answer.text) as Answer
    if (answer.status !== 429 || tries === TRIES) throw refused(url, reasonOf(answer))
    await systemClock.sleep(answer.retryAfterMs ?? PAUSE_MS, signal)
    signal.throwIfAborted()
  }
}

function reasonOf({ status, text }: HttpAnswer): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'string' ? error : `HTTP status ${status}`
  } catch {
    return `HTTP status ${status}`
  }
}

function refused(url: string, reason: string): BaseError {
  return new BaseError(`The program at ${url} did not reconcile: ${reason}`, {
    code: 'server_refused',
  })
}

function findingOf(found: BreakWire): Finding {
  const { id, kind, recorded, evidence } = found
  return {
    id,
    kind,
    transactionId: found.transaction_id,
    hash: found.eth_transaction_hash,
    recorded,
    onChain: found.on_chain,
    evidence,
  }
}
