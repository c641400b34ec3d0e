/** How long ago, or how long, in the two largest units that tell. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return 'under 1 s'
  const parts: string[] = []
  let rest = Math.floor(seconds)
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${name}`)
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break
  }
  return parts.join(' ')
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** A number of the smallest unit as a decimal, without a detour through a double. */
export function formatUnits(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** How one decimal stands to another: the sign of what lies between them, and how much it is. */
export function compareDecimals(
  one: string,
  other: string,
): { sign: -1 | 0 | 1; difference: string } {
  const pair = [one, other].map((text) => text.split('.'))
  const decimals = Math.max(...pair.map(([, fraction = '']) => fraction.length))
  const [first = 0n, second = 0n] = pair.map(([whole = '', fraction = '']) =>
    BigInt(whole + fraction.padEnd(decimals, '0')),
  )
  const off = first - second
  return {
    sign: off === 0n ? 0 : off < 0n ? -1 : 1,
    difference: formatUnits(off < 0n ? -off : off, decimals),
  }
}

/**
 * The digits before the point in groups of three; what stands after it stays as it is. A browser
 * takes 20 ms to do so for the first time by its own means, which also read differently by place.
 */
export function groupDigits(decimal: string | number | bigint): string {
  const [whole = '', fraction] = String(decimal).split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, '\u202f')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** A decimal with as many digits as its currency has at least, in groups of three. */
export function formatDecimal(decimal: string, currency: string): string {
  const [whole = '', fraction = ''] = decimal.split('.')
  const least = CENTS.has(currency) ? 2 : 0
  const digits = fraction.padEnd(least, '0')
  return groupDigits(digits === '' ? whole : `${whole}.${digits}`)
}

const CENTS: ReadonlySet<string> = new Set(['USD', 'EUR', 'GBP'])

export function shortHash(hash: string): string {
  return hash.length > 14 ? `${hash.slice(0, 8)}…${hash.slice(-6)}` : hash
}

/** To the second, in a form that no place reads wrongly; in UTC where that is asked for. */
export function formatTime(iso: string, zone: 'local' | 'utc' = 'local'): string {
  const time = new Date(iso)
  if (zone === 'utc') return time.toISOString().slice(0, 19).replace('T', ' ')
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(twoDigits).join('-')
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':')
  return `${day} ${clock}`
}

/** `UTC`, or how far a time of here is from it: `+01:00`. */
export function zoneOf(iso: string, zone: 'local' | 'utc' = 'local'): string {
  const minutes = zone === 'utc' ? 0 : -new Date(iso).getTimezoneOffset()
  if (minutes === 0) return 'UTC'
  const far = Math.abs(minutes)
  const offset = [Math.floor(far / 60), far % 60].map(twoDigits).join(':')
  return `${minutes < 0 ? '-' : '+'}${offset}`
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0')
}

export function formatClock(date: Date): string {
  return formatTime(date.toISOString()).slice(-8, -3)
}

/** `waiting_for_block` as people read it. */
export function sentenceOf(code: string): string {
  const words = code.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** `user:3` as people read it. */
export function whoOf(actor: string): string {
  return actor.replace(':', ' ')
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${groupDigits(count)} ${count === 1 ? one : many}`
}
