import type { Party, PartyKind, RemoteGatewayKind } from '../base/parties.ts'
import { createCard } from './card.ts'
import type { GatewayAdapter } from './gateway.ts'
import type { Simulated, SimulatorGround } from './simulators/serve.ts'
import { createWallet } from './wallet.ts'

/** What every adapter receives in addition to the settings of its party. */
export type AdapterGround = {
  now: () => Date
  /** Where the payer comes back to. */
  returnUrl: () => string
}

export const ADAPTERS: {
  readonly [Kind in RemoteGatewayKind]: (party: Party<Kind> & AdapterGround) => GatewayAdapter
} = {
  card: createCard,
  wallet_checkout: createWallet,
}

type Simulate<Kind extends PartyKind> = (
  settings: Omit<Party<Kind>, 'url'> & SimulatorGround,
) => Simulated

/** Loaded where they are played. */
export const SIMULATORS: {
  readonly [Kind in PartyKind]: () => Promise<Simulate<Kind>>
} = {
  card: async () => (await import('./simulators/card.ts')).createSimulatedCard,
  wallet_checkout: async () => (await import('./simulators/wallet.ts')).createSimulatedWallet,
  bank: async () => (await import('./simulators/bank.ts')).createSimulatedBank,
}
