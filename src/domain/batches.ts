import { BaseError } from '../base/errors.ts'

/** What happens where one payment of a batch cannot be made: none is, or each of the others. */
export const ON_FAILURE = ['all_or_nothing', 'each'] as const

export type OnFailure = (typeof ON_FAILURE)[number]

/** Pending until the last payment is final; then whether all, some or none were paid. */
export const BATCH_STATUSES = ['pending', 'completed', 'partly_completed', 'failed'] as const

export type BatchStatus = (typeof BATCH_STATUSES)[number]

export const MAX_BATCH = 1_000

/** What is wrong with the payment at this place of a batch. */
export type PlacedProblem = { place: number; code: string; message: string }

/** Nothing of the batch was accepted, for what is wrong with some of its payments. */
export class BatchRefusedError extends BaseError {
  override readonly name = 'BatchRefusedError'
  readonly problems: readonly PlacedProblem[]

  constructor(problems: readonly [PlacedProblem, ...PlacedProblem[]]) {
    const [{ place, message }] = problems
    super(
      `${problems.length} of the payments cannot be made; the first is item ${place}: ${message}`,
      { code: 'batch_refused' },
    )
    this.problems = problems
  }
}
