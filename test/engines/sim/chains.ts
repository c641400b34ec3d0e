import { createRandom } from '../../fixtures/random.ts'
import { ACTS } from './acts.ts'
import { countStates, wrongsNow, wrongsOf } from './check.ts'
import type { Sim } from './life.ts'
import { drawPlan, FAULT_KINDS } from './plan.ts'
import {
  beginStep,
  comeToRest,
  countFaults,
  passOnce,
  startSim,
  weightsOf,
  type Play,
} from './run.ts'

/**
 * Payments of ether on two chains out of one database, by the same signers: what one chain goes
 * through must not touch the other.
 */
export const CHAINS_PLAY: Play = {
  chains: 2,
  acts: Object.keys(ACTS),
  faults: FAULT_KINDS,
  outcomes: [],
  plan: (seed) => drawPlan(seed, { weights: weightsOf(ACTS), count: [8, 8] }),
  async run({ plan, db, worlds }) {
    const sims = []
    for (const world of worlds) {
      const sim = await startSim({ plan, db, world })
      sims.push({ sim, since: await world.head() })
    }
    const wrongs = new Set<string>()
    const look = async (sim: Sim): Promise<void> => {
      for (const wrong of await wrongsNow(sim)) wrongs.add(wrong)
    }
    for (const { act, at } of plan.steps) {
      const played = createRandom(`chain ${plan.seed}/${at}`).pick(sims)
      for (const { sim } of sims) beginStep(sim, plan, at)
      await ACTS[act]!.act(played.sim)
      // Both have something on their way, at nonces that are alike.
      for (const other of sims) if (other !== played) await ACTS['pay']!.act(other.sim)
      for (const { sim } of sims) {
        await passOnce(sim)
        await look(sim)
      }
    }
    const counts: Record<string, number> = {}
    for (const [place, { sim }] of sims.entries()) {
      sim.random = createRandom(`rest ${plan.seed}`)
      await comeToRest(sim, () => look(sim))
      const told = {
        ...(await countStates(sim)),
        ...countFaults(place === 0 ? plan : { ...plan, steps: [] }, sim.faults),
      }
      for (const [name, count] of Object.entries(told)) counts[name] = (counts[name] ?? 0) + count
      counts['crashes'] = (counts['crashes'] ?? 0) + sim.crashes()
    }
    // The other chain, too, has come to its rest by then.
    for (const { sim, since } of sims) {
      const signers = sim.signers.addresses
      for (const wrong of await wrongsOf({ ...sim, signers, since })) wrongs.add(wrong)
    }
    return { seed: plan.seed, wrongs: [...wrongs], counts }
  },
}
