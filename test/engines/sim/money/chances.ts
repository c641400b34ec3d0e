import {
  drop,
  giveFunds,
  mine,
  raisePrice,
  reorg,
  takeFunds,
  useNonceOutside,
  wait,
} from '../acts.ts'
import {
  burn,
  burnOtherwise,
  cancel,
  depositDollars,
  depositEther,
  freeze,
  mineToFinal,
  mint,
  moveBank,
  payOut,
  payOutTogether,
  redeem,
  redeemOwn,
  turnMinter,
  withdraw,
} from './acts.ts'
import { payOutLate, usePermit } from './permits.ts'
import type { MoneySim } from './sim.ts'

/** What may happen to the money, the chain or the bank, and how likely each is. */
export const ACTS: Readonly<
  Record<string, { weight: number; act: (sim: MoneySim) => Promise<void> }>
> = {
  mint: { weight: 4, act: (sim) => mint(sim) },
  redeem: { weight: 3, act: redeem },
  redeemOwn: { weight: 2, act: redeemOwn },
  payOut: { weight: 2, act: payOut },
  payOutTogether: { weight: 2, act: payOutTogether },
  payOutLate: { weight: 2, act: payOutLate },
  usePermit: { weight: 2, act: usePermit },
  freeze: { weight: 2, act: freeze },
  withdraw: { weight: 3, act: withdraw },
  depositEther: { weight: 2, act: depositEther },
  depositDollars: { weight: 2, act: depositDollars },
  burn: { weight: 4, act: burn },
  burnOtherwise: { weight: 1, act: burnOtherwise },
  moveBank: { weight: 2, act: moveBank },
  mine: { weight: 2, act: mine },
  mineToFinal: { weight: 2, act: mineToFinal },
  reorg: { weight: 2, act: reorg },
  drop: { weight: 1, act: drop },
  raisePrice: { weight: 1, act: raisePrice },
  useNonceOutside: { weight: 1, act: useNonceOutside },
  cancel: { weight: 1, act: cancel },
  takeFunds: { weight: 1, act: noted(takeFunds) },
  giveFunds: { weight: 2, act: noted(giveFunds) },
  turnMinter: { weight: 1, act: turnMinter },
  wait: { weight: 1, act: wait },
}

function noted(act: (sim: MoneySim) => Promise<void>) {
  return async (sim: MoneySim): Promise<void> => {
    sim.fundsMoved.push(await sim.world.head())
    await act(sim)
  }
}
