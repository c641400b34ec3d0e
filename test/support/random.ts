import { createHash } from 'node:crypto'

/** Chances that follow from a seed alone. */
export type Random = {
  chance: (probability: number) => boolean
  /** From 0 up to, and without, the bound. */
  below: (bound: number) => number
  pick: <T>(values: readonly T[]) => T
  bytes: (length: number) => Buffer
}

/** One draw after the other, for what happens in one order. */
export function createRandom(seed: string): Random {
  let drawn = 0
  return randomOf(() => drawOf(`${seed}/${drawn++}`))
}

/**
 * A draw that belongs to its key and to how often that key was drawn. What runs at the same time
 * may ask in any order, and the answers stay the same.
 */
export function createKeyedRandom(seed: string): (key: string) => Random {
  const times = createCounter()
  return (key) => createRandom(`${seed}/${key}/${times(key)}`)
}

/** A keyed draw from 0 to below 1. */
export type KeyedDraw = (key: string) => number

export function createKeyedDraw(seed: number): KeyedDraw {
  const times = createCounter()
  return (key) => drawOf(`${seed}/${times(key)}/${key}`)
}

/** How often a key was asked for before. */
function createCounter(): (key: string) => number {
  const counts = new Map<string, number>()
  return (key) => {
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    return count
  }
}

function randomOf(draw: () => number): Random {
  const below = (bound: number): number => Math.floor(draw() * bound)
  return {
    chance: (probability) => draw() < probability,
    below,
    pick: (values) => {
      const value = values[below(values.length)]
      if (value === undefined) throw new RangeError('there is nothing to pick from')
      return value
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  }
}

function drawOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
}
