import { createRandom } from '../../fixtures/random.ts'

/** One act of a run, with a place that its chances follow from, whatever else is left out. */
export type Step = { act: string; at: number }

/** What happens in a run. It follows from the seed, and a part of it can be played alone. */
export type Plan = { seed: number; steps: readonly Step[]; without: readonly FaultKind[] }

/** What goes wrong by itself while acts are played. */
export const FAULT_KINDS = [
  'error',
  'lost',
  'twice',
  'late',
  'lie',
  'stale',
  'lag',
  'down',
  'crash',
  'pause',
  'quote',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]

export function drawPlan(
  seed: number,
  { weights, count }: { weights: Readonly<Record<string, number>>; count: [number, number] },
): Plan {
  const random = createRandom(`plan ${seed}`)
  const drawn = Object.entries(weights).flatMap(([act, weight]) => Array<string>(weight).fill(act))
  const [least, more] = count
  const length = least + random.below(more)
  const steps = Array.from({ length }, (_, at) => ({ act: random.pick(drawn), at }))
  return { seed, steps, without: [] }
}

/**
 * The shortest part of a red plan that is still red: kinds of faults are left out first, then ever
 * shorter runs of acts.
 */
export async function shrink(plan: Plan, isRed: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let shortest = plan
  const keepRed = async (tried: Plan): Promise<boolean> => {
    const red = await isRed(tried)
    if (red) shortest = tried
    return red
  }
  for (const kind of FAULT_KINDS) {
    await keepRed({ ...shortest, without: [...shortest.without, kind] })
  }
  for (
    let length = Math.ceil(plan.steps.length / 2);
    length >= 1;
    length = Math.floor(length / 2)
  ) {
    for (let from = 0; from < shortest.steps.length;) {
      const steps = shortest.steps.toSpliced(from, length)
      if (!(await keepRed({ ...shortest, steps }))) from += length
    }
  }
  return shortest
}
