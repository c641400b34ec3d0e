import { parseAddress } from '../../../../chain/hex.ts'
import { parseAmount } from '../../../../domain/money.ts'
import type { Hex } from '../../../../domain/orders.ts'
import type { ListPlace, TransactionPage, Wanted } from '../../../../store/transactions/found.ts'
import type { FieldProblem } from '../../../../wire/errors.ts'
import type { TransactionSearch } from '../../../../wire/group-b/transactions.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { wantedChain, type Chains } from '../../../chains.ts'
import { cursorOf, dayRange } from '../../lists.ts'

/** What a list of transactions is asked for, or a refusal of what cannot be meant. */
export function readSearch(chains: Chains, query: TransactionSearch): Omit<Wanted, 'userId'> {
  const { type, status, metadata, currency, external_id: externalId, batch_id: batchId } = query
  const toAddress = query.to_address === undefined ? undefined : parseAddress(query.to_address)
  const problems = [...amountProblems(query)]
  if (query.to_address !== undefined && toAddress === undefined) {
    const message = 'The checksum of this address is wrong. Check the address.'
    problems.push({ field: 'query.to_address', code: 'checksum', message })
  }
  if (problems.length > 0) throw invalidRequest(problems)
  return {
    type,
    status,
    chainId: wantedChain(chains, query),
    metadata,
    currency,
    externalId,
    batchId,
    toAddress,
    hash: query.hash as Hex | undefined,
    reference: query.reference as Hex | undefined,
    minAmount: query.min_amount,
    maxAmount: query.max_amount,
    ...dayRange(query),
  }
}

function amountProblems(query: TransactionSearch): FieldProblem[] {
  const { currency, min_amount: min, max_amount: max } = query
  if (min === undefined && max === undefined) return []
  if (currency === undefined) {
    const message = 'An amount needs a currency. Send `currency` as well.'
    return [{ field: 'query.currency', code: 'required', message }]
  }
  if (min === undefined || max === undefined || unitsOf(min) <= unitsOf(max)) return []
  const message = 'This is more than `max_amount`. Exchange the two.'
  return [{ field: 'query.min_amount', code: 'above_max_amount', message }]
}

function unitsOf(text: string): bigint {
  return /[1-9]/.test(text) ? parseAmount({ text, decimals: 18 }) : 0n
}

/** The first `limit` of a page that was asked for with one more, and where the next begins. */
export function cut<T extends ListPlace>(
  { transactions, stoppedAt }: Pick<TransactionPage, 'stoppedAt'> & { transactions: readonly T[] },
  limit: number,
): { shown: readonly T[]; next: string | null } {
  const shown = transactions.slice(0, limit)
  const end = transactions.length > limit ? shown.at(-1) : stoppedAt
  return { shown, next: end ? cursorOf(end) : null }
}
