import { BaseError as ViemError } from 'viem'

import { KNOWN_CHAINS } from '../base/chains/known.ts'
import { BaseError, codeOf, messageOf } from '../base/errors.ts'
import { nameOfProvider } from '../chain/rpc/rpc.ts'

/** A deployment that was refused or did not end. Running it again never deploys twice. */
export class DeployError extends BaseError {
  override readonly name = 'DeployError'
}

/** The codes that say: the chain has something else than what belongs there. */
export const DISAGREEMENTS: ReadonlySet<string> = new Set([
  'deploy_code_differs',
  'deploy_deployer_differs',
])

/** Runs one question to the node; a failure of the line becomes an error that may be retried. */
export async function ask<Answer>(what: string, question: () => Promise<Answer>): Promise<Answer> {
  try {
    return await question()
  } catch (error) {
    const host = hostOf(error)
    const node = host === undefined ? 'The node' : `The node ${host}`
    throw new DeployError(
      `${node} did not say ${what}: ${reasonOf(error)}. ${adviceOn(host)}, and run the same command again.`,
      { code: 'deploy_rpc_failed', retryable: true, cause: error },
    )
  }
}

/** What a node said, without the address that was asked: such an address may carry a key. */
export function reasonOf(error: unknown): string {
  // A connection that fails has the code of the system innermost, below "fetch failed".
  const code = causesOf(error).map(codeOf).findLast(isSystemCode)
  if (code !== undefined) return code
  const text = error instanceof ViemError ? error.details || error.shortMessage : messageOf(error)
  return (text.split('\n')[0] ?? '').replace(/\.$/, '').slice(0, MAX_REASON_LENGTH)
}

const MAX_REASON_LENGTH = 200

function isSystemCode(code: string | undefined): code is string {
  return code !== undefined && /^[A-Z][A-Z_]+$/.test(code)
}

/** An error and what caused it, from the outside in. */
export function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let at = error; causes.length < MAX_CAUSES && at instanceof Error; at = at.cause) {
    causes.push(at)
  }
  return causes
}

/** An error can be its own cause. */
const MAX_CAUSES = 16

/** Which node failed, by its host alone. */
function hostOf(error: unknown): string | undefined {
  for (const one of causesOf(error)) {
    const { url } = one as { url?: unknown }
    if (typeof url === 'string') return nameOfProvider(url)
  }
  return undefined
}

function adviceOn(host: string | undefined): string {
  return host !== undefined && PUBLIC_NODES.has(host)
    ? 'It is a public node: set ETH_RPC_URL to a node of your own'
    : 'Check the RPC address'
}

const PUBLIC_NODES: ReadonlySet<string> = new Set(
  Object.values(KNOWN_CHAINS).map(({ rpcUrl }) => nameOfProvider(rpcUrl)),
)
