import { quantity, toQuantity } from '../chain/answers.ts'
import type { Hex } from '../chain/hex.ts'
import { finalUnder } from '../chain/quorum.ts'
import { failureOf, type Asker } from './ask.ts'
import type { CheckedOptions } from './claim.ts'
import type { Disagreement } from './verdict.ts'

type Lost = { payer: Hex; nonce: bigint; hash: Hex; options: CheckedOptions }

/**
 * Whether another transaction took the nonce, so that this one can never be mined. The caller may
 * then pay again, so enough providers must confirm it, in a block that is final.
 */
export async function findReplacement(
  standings: readonly { name: string; asker: Asker; head: bigint }[],
  lost: Lost,
): Promise<Disagreement | undefined> {
  const { options, payer, nonce } = lost
  const { needed } = options
  const counts = await Promise.all(standings.map((standing) => countsOf(standing, lost)))
  const taken = counts.filter(({ latest }) => latest > nonce)
  if (taken.length < needed) return undefined
  // It may have been mined between two questions, and have taken its nonce itself.
  const mined = taken.find(({ isMined }) => isMined)
  if (mined !== undefined) return minedJustNow(mined.name)
  const names = taken.map(({ name }) => name).join(' and ')
  const what = `Another transaction of ${payer} took the nonce ${nonce}, say ${names}`
  const found = `${taken.map(({ latest }) => latest).join(', ')} transactions of the payer`
  const pair = { expected: `nonce ${nonce}`, found }
  return counts.filter(({ final }) => final > nonce).length >= needed
    ? { kind: 'replaced', message: `${what}, so this one never happens.`, ...pair }
    : { kind: 'not_final', message: `${what}; that is not final yet.`, ...pair }
}

/** How many transactions of the payer one provider counts; 0 where it does not answer. */
async function countsOf(
  { name, asker, head }: { name: string; asker: Asker; head: bigint },
  { payer, hash, nonce, options: { confirmations } }: Lost,
): Promise<{ name: string; latest: bigint; final: bigint; isMined: boolean }> {
  const count = async (block: string): Promise<bigint> => {
    const answer = asker.ask('eth_getTransactionCount', payer, block)
    return (await answer.then((shown) => quantity(shown, 'count')).catch(unanswered)) ?? 0n
  }
  const latest = await count('latest')
  if (latest <= nonce) return { name, latest, final: 0n, isMined: false }
  const answer = await asker.ask('eth_getTransactionByHash', hash).catch(unanswered)
  const isMined = isInBlock(answer)
  if (typeof confirmations === 'string') {
    return { name, latest, final: await count(confirmations), isMined }
  }
  const last = finalUnder(head, confirmations)
  return { name, latest, final: last === undefined ? 0n : await count(toQuantity(last)), isMined }
}

function isInBlock(answer: unknown): boolean {
  const isShown = typeof answer === 'object' && answer !== null && 'blockHash' in answer
  return isShown && typeof answer.blockHash === 'string'
}

function unanswered(error: unknown): undefined {
  failureOf(error)
}

function minedJustNow(provider: string): Disagreement {
  const message = 'It was mined during the search. Ask again.'
  return { kind: 'not_mined', message, provider }
}
