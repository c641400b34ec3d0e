import { BaseError as ViemError } from 'viem'

import { BaseError, messageOf } from '../base/errors.ts'

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
    throw new DeployError(
      `The node did not say ${what}: ${reasonOf(error)}. Check the RPC address and run the same command again.`,
      { code: 'deploy_rpc_failed', retryable: true, cause: error },
    )
  }
}

/** What a node said, without the address that was asked: such an address may carry a key. */
export function reasonOf(error: unknown): string {
  const text = error instanceof ViemError ? error.details || error.shortMessage : messageOf(error)
  return (text.split('\n')[0] ?? '').replace(/\.$/, '').slice(0, MAX_REASON_LENGTH)
}

const MAX_REASON_LENGTH = 200
