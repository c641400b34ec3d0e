import type { Hex } from '../chain/hex.ts'
import type { ProfileStatement } from './profiles.ts'
import type { Payment } from './read-payments.ts'
import type { TokenState } from './token-state.ts'

/**
 * What the chain says of a claim.
 *
 * - `holds`: everything that was claimed is proven, and final.
 * - `pending`: nothing contradicts the claim, but not all of it can be established yet;
 *   `disagreements` says what is open.
 * - `disagrees`: `disagreements` names each thing that is otherwise than claimed.
 */
export type Verdict = {
  status: 'holds' | 'pending' | 'disagrees'
  /** Empty exactly when the claim holds. */
  disagreements: readonly Disagreement[]
  /** What was proven and who said so; undefined where no provider could show the transaction. */
  evidence: Evidence | undefined
  /** Providers that said what is not so, or kept back what they know, whatever the verdict. */
  complaints: readonly Complaint[]
  /** What can and what cannot be proven for this token. */
  profile: ProfileStatement | undefined
  /** What the verdict does not cover. */
  caveats: readonly string[]
}

/** What is not as claimed; a program branches on it, the message is for people. */
export type DisagreementKind =
  // The transaction.
  | 'missing'
  | 'reverted'
  | 'replaced'
  | 'reorged'
  | 'wrong_chain'
  | 'wrong_block'
  | 'outside_window'
  // The payment in it.
  | 'no_payment'
  | 'wrong_amount'
  | 'wrong_recipient'
  | 'wrong_payer'
  | 'wrong_token'
  | 'wrong_contract'
  | 'wrong_reference'
  | 'wrong_minter'
  | 'wiped'
  | 'ambiguous'
  | 'not_provable'
  // Those who say so.
  | 'provider_disagrees'
  | 'unsupported'
  // The proof file.
  | 'malformed'
  | 'tampered'
  | PendingKind

/** Time, or another provider, may settle these. */
export type PendingKind =
  'not_mined' | 'not_final' | 'provider_lags' | 'unavailable' | 'not_anchored'

/** One thing that is not as claimed, or not established yet. */
export type Disagreement = {
  kind: DisagreementKind
  /** A sentence for a person. */
  message: string
  expected?: string
  found?: string
  /** Whose word it is, where it is one provider's. */
  provider?: string
}

/** What a provider did wrong, kept even where the verdict could do without it. */
export type Complaint = {
  provider: string
  kind: 'lies' | 'disagrees' | 'withholds' | 'changes_its_answer'
  message: string
}

/** Everything here but `amountText` and `tokenState` is proven from the block's hash. */
export type Evidence = {
  chainId: bigint
  /** Who showed the block. */
  provider: string
  /** Who says that this block has its number: providers, and `checkpoint`. */
  agreeing: readonly string[]
  block: { number: bigint; hash: Hex; time: string }
  transaction: {
    hash: Hex
    type: number
    nonce: bigint
    from: Hex
    to: Hex | null
    value: bigint
  }
  /** The gas is known where the whole block was read. */
  receipt: { succeeded: boolean | undefined; gasUsed?: bigint; logs: number }
  /** The payment that was claimed, or the one nearest to it, as the chain tells it. */
  payment: Payment | undefined
  /** Its amount for a person: `12.345678 USDC`, by what the token says of itself. */
  amountText: string | undefined
  /** The block itself counts as one; undefined where nobody was asked. */
  confirmations: bigint | undefined
  /** The word of the provider, read at the block. */
  tokenState: TokenState | undefined
}

const PENDING: ReadonlySet<DisagreementKind> = new Set<PendingKind>([
  'not_mined',
  'not_final',
  'provider_lags',
  'unavailable',
  'not_anchored',
])

/** Puts a verdict together; its status follows from what disagrees. */
export function conclude(
  parts: Partial<Omit<Verdict, 'status'>> & Pick<Verdict, 'disagreements'>,
): Verdict {
  const { disagreements } = parts
  const isOpen = disagreements.every(({ kind }) => PENDING.has(kind))
  return {
    status: disagreements.length === 0 ? 'holds' : isOpen ? 'pending' : 'disagrees',
    disagreements,
    evidence: parts.evidence,
    complaints: parts.complaints ?? [],
    profile: parts.profile,
    caveats: parts.caveats ?? [],
  }
}

/**
 * Whether nobody could be asked at all, so that the verdict says nothing of the chain.
 *
 * @example
 *   ```ts
 *   import { couldNotAsk, type Verdict } from 'quittance/verify'
 *
 *   const exitCode = (verdict: Verdict): number =>
 *     verdict.status === 'holds' ? 0 : couldNotAsk(verdict) ? 2 : 1
 *   console.log(exitCode)
 *   ```
 */
export function couldNotAsk(verdict: Verdict): boolean {
  return (
    verdict.evidence === undefined &&
    verdict.disagreements.length > 0 &&
    verdict.disagreements.every(({ kind }) => kind === 'unavailable')
  )
}

export function timeOf(timestamp: bigint): string {
  const MAX_SECONDS = 8_640_000_000_000n
  if (timestamp > MAX_SECONDS) return `second ${timestamp}`
  return new Date(Number(timestamp) * 1000).toISOString()
}
