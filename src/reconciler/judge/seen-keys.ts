/**
 * How often each of many texts was seen, in 16 bytes each instead of the text. A text is known by
 * 64 bits of a hash: of a million, two meet once in forty million.
 */
export type SeenKeys = {
  /** Counts the text, and says how often it was seen before and which number it had then. */
  add: (text: string, mark: number) => { times: number; mark: number }
  has: (text: string) => boolean
  /** What was added since this was asked last, for a later run to add as well. */
  takeAdded: () => Buffer
  addTaken: (taken: Buffer) => void
}

export function createSeenKeys(): SeenKeys {
  let capacity = 1 << 12
  let used = 0
  let table = new Uint32Array(capacity * WORDS)
  const find = (high: number, low: number): number => {
    let slot = low & (capacity - 1)
    for (;;) {
      const at = slot * WORDS
      const isFree = table[at + 2] === 0
      if (isFree || (table[at] === high && table[at + 1] === low)) return at
      slot = (slot + 1) & (capacity - 1)
    }
  }
  const grow = (): void => {
    const old = table
    capacity *= 2
    table = new Uint32Array(capacity * WORDS)
    for (let from = 0; from < old.length; from += WORDS) {
      if (old[from + 2] === 0) continue
      const at = find(old[from] ?? 0, old[from + 1] ?? 0)
      table.set(old.subarray(from, from + WORDS), at)
    }
  }
  let added: number[] = []
  const put = (high: number, low: number, mark: number): { times: number; mark: number } => {
    if (used * 2 > capacity) grow()
    const at = find(high, low)
    const times = table[at + 2] ?? 0
    const before = table[at + 3] ?? 0
    if (times === 0) {
      used += 1
      table[at] = high
      table[at + 1] = low
      table[at + 3] = mark
    }
    table[at + 2] = times + 1
    return { times, mark: times === 0 ? mark : before }
  }
  return {
    has(text) {
      const [high, low] = hashOf(text)
      return table[find(high, low) + 2] !== 0
    },
    add(text, mark) {
      const [high, low] = hashOf(text)
      added.push(high, low, mark)
      return put(high, low, mark)
    },
    takeAdded() {
      const taken = Buffer.from(Uint32Array.from(added).buffer)
      added = []
      return taken
    },
    addTaken(taken) {
      for (let at = 0; at + TAKEN_BYTES <= taken.length; at += TAKEN_BYTES) {
        const [high, low, mark] = [0, 4, 8].map((word) => taken.readUInt32LE(at + word))
        put(high ?? 0, low ?? 0, mark ?? 0)
      }
    },
  }
}

/** Two words of the hash, how often it was seen, and the mark of the first time. */
const WORDS = 4
/** Two words of the hash, and the mark. */
const TAKEN_BYTES = 12

/** cyrb53's mixing, kept to its two words. */
function hashOf(text: string): [number, number] {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    a = Math.imul(a ^ code, 2_654_435_761)
    b = Math.imul(b ^ code, 1_597_334_677)
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909)
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909)
  return [b >>> 0, a >>> 0]
}
