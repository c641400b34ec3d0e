import { coinOfChain } from '../domain/coins.ts'
import { formatAmount } from '../domain/money.ts'

/** Six decimals are enough for a person; a cost never looks lower, and a balance never higher. */
export function inCoin(
  wei: bigint,
  { chainId, round }: { chainId: number; round: 'up' | 'down' },
): string {
  const amount = (round === 'up' ? wei + WEI_PER_MILLIONTH - 1n : wei) / WEI_PER_MILLIONTH
  return `${formatAmount({ amount, decimals: 6 })} ${coinOfChain(chainId)}`
}

const WEI_PER_MILLIONTH = 10n ** 12n

/** Lines of at most 80 columns; those after the first one are indented. */
export function wrapped(text: string, indent = ''): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined) lines.push(word)
    else if (last.length + 1 + word.length <= MAX_COLUMNS) lines.splice(-1, 1, `${last} ${word}`)
    else lines.push(indent + word)
  }
  return lines
}

const MAX_COLUMNS = 80
