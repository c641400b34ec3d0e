import { BaseError } from '../base/errors.ts'
import { quantity, readFrom } from '../chain/answers.ts'
import type { Hex } from '../chain/hex.ts'
import { plainProvider } from '../chain/rpc/provider.ts'
import type { Provider, VerifyOptions } from '../verify/index.ts'
import { NotSettledError } from './errors.ts'

/** Whose word counts as the chain's, and how deep a block must lie to be final. */
export type ProofOptions = {
  /** The caller's own nodes: addresses, or anything that answers JSON-RPC. One is believed. */
  providers: readonly (string | Provider)[]
  /** Absent: what the first provider says. */
  chainId?: number | bigint | undefined
  confirmations?: VerifyOptions['confirmations']
  agreement?: VerifyOptions['agreement']
}

/** What every proof of one client shares. */
export type Prover = {
  chainId: (signal: AbortSignal) => Promise<bigint>
  options: (signal: AbortSignal) => VerifyOptions
  /** One payment in the chain proves one record. */
  taker: (subject: string) => (payment: { hash: Hex; reference?: string | undefined }) => void
}

export function createProver(options: ProofOptions): Prover {
  const { providers: given, confirmations, agreement } = options
  const providers = given.map((one) => (typeof one === 'string' ? plainProvider(one) : one))
  const [first] = providers
  if (first === undefined) throw new NoProviderError()
  const taken = new Map<string, string>()
  let known = options.chainId === undefined ? undefined : BigInt(options.chainId)
  return {
    async chainId(signal) {
      if (known !== undefined) return known
      const value = await first.request({ method: 'eth_chainId', signal })
      known = readFrom({ value, provider: first.name }, (id) => quantity(id, 'chain id'))
      return known
    },
    options: (signal) => ({ providers, confirmations, agreement, signal }),
    taker: (subject) => (payment) => {
      const { hash, reference = '' } = payment
      const key = `${hash} ${reference}`
      const owner = taken.get(key) ?? subject
      if (owner !== subject) throw reused({ hash, owner, subject })
      taken.set(key, subject)
      // The oldest are forgotten: a program that runs for a year does not grow with its payments.
      const [oldest] = taken.keys()
      if (taken.size > REMEMBERED_PAYMENTS && oldest !== undefined) taken.delete(oldest)
    },
  }
}

const REMEMBERED_PAYMENTS = 100_000

function reused(facts: { hash: Hex; owner: string; subject: string }): NotSettledError {
  const { hash, owner, subject } = facts
  return new NotSettledError(`${subject} names the payment ${hash}, which is that of ${owner}.`, {
    code: 'hash_reused',
  })
}

class NoProviderError extends BaseError {
  constructor() {
    super('A proof needs your own node. Pass one in providers.', { code: 'invalid_call' })
  }
}
