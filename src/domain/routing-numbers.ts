/**
 * Whether the nine digits can be a routing number of the American Bankers Association: the weighted
 * sum of the digits ends in zero, and the first two name a district.
 */
export function isRoutingNumber(text: string): boolean {
  if (!/^[0-9]{9}$/.test(text)) return false
  let sum = 0
  for (let index = 0; index < text.length; index += 1) {
    sum += Number(text[index]) * (WEIGHTS[index % 3] ?? 0)
  }
  const district = Number(text.slice(0, 2))
  return sum % 10 === 0 && DISTRICTS.some(([from, to]) => from <= district && district <= to)
}

const WEIGHTS = [3, 7, 1]

/** Government and the Federal Reserve's districts, thrifts, electronic payments, cheques. */
const DISTRICTS: ReadonlyArray<readonly [number, number]> = [
  [0, 12],
  [21, 32],
  [61, 72],
  [80, 80],
]
