/** Milliseconds of each round, by the clock and by the processor of this process. */
export type Sample = { wall: number[]; cpu: number[] }

/** On a machine that others use too, the processor's time says more than the clock's. */
export async function time(rounds: number, work: () => Promise<unknown>): Promise<Sample> {
  const sample: Sample = { wall: [], cpu: [] }
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    const startedAt = performance.now()
    await work()
    sample.wall.push(performance.now() - startedAt)
    const used = process.cpuUsage(before)
    sample.cpu.push((used.user + used.system) / 1000)
  }
  return sample
}

/** What this share of the times is at most. */
export function at(times: number[], share: number): string {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)]?.toFixed(1) ?? ''
}
