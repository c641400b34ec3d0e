import type { ComponentType } from 'preact'

import type { IconName } from '../parts/icon.tsx'
import type { ScreenProps } from '../route.ts'
import { AlertsScreen } from '../screens/alerts.tsx'
import { BatchesScreen, BatchScreen } from '../screens/batches.tsx'
import { BreakScreen } from '../screens/break.tsx'
import { BreaksScreen } from '../screens/breaks.tsx'
import { DeliveriesScreen, DeliveryScreen } from '../screens/deliveries.tsx'
import { DisputesScreen } from '../screens/disputes.tsx'
import { EndpointsScreen } from '../screens/endpoints.tsx'
import { KeysScreen } from '../screens/keys.tsx'
import { MintsScreen, RedeemsScreen, WiresScreen } from '../screens/movements.tsx'
import { OverviewScreen } from '../screens/overview.tsx'
import { ProvidersScreen } from '../screens/providers.tsx'
import { RunScreen, RunsScreen } from '../screens/runs.tsx'
import { SendBatchScreen } from '../screens/send-batch.tsx'
import { SendScreen } from '../screens/send.tsx'
import { SignersScreen } from '../screens/signers.tsx'
import { TransactionScreen } from '../screens/transaction.tsx'
import { TransactionsScreen } from '../screens/transactions.tsx'
import { PaymentScreen, PaymentsScreen } from '../screens/undecided-payments.tsx'
import { UsersScreen } from '../screens/users.tsx'
import { WalletScreen, WalletsScreen } from '../screens/wallets.tsx'

export type Screen = {
  name: string
  title: string
  icon: IconName
  list: ComponentType<ScreenProps>
  one?: ComponentType<ScreenProps>
  /** A list that is another one with a filter. */
  query?: Readonly<Record<string, string>>
}

/** The menu: what an operator looks at first stands first. */
export const MENU: ReadonlyArray<{ title: string; screens: readonly Screen[] }> = [
  {
    title: 'Today',
    screens: [
      { name: '', title: 'Overview', icon: 'overview', list: OverviewScreen },
      { name: 'send', title: 'Send', icon: 'send', list: SendScreen, one: SendBatchScreen },
    ],
  },
  {
    title: 'Money',
    screens: [
      {
        name: 'transactions',
        title: 'Transactions',
        icon: 'transactions',
        list: TransactionsScreen,
        one: TransactionScreen,
      },
      {
        name: 'batches',
        title: 'Batches',
        icon: 'batches',
        list: BatchesScreen,
        one: BatchScreen,
      },
      {
        name: 'transactions',
        title: 'Deposits',
        icon: 'deposits',
        list: TransactionsScreen,
        query: { type: 'deposit' },
      },
      { name: 'mints', title: 'Mints', icon: 'mints', list: MintsScreen },
      { name: 'redeems', title: 'Redeems', icon: 'redeems', list: RedeemsScreen },
      { name: 'wires', title: 'Wires', icon: 'wires', list: WiresScreen },
      {
        name: 'wallets',
        title: 'Wallets',
        icon: 'wallets',
        list: WalletsScreen,
        one: WalletScreen,
      },
    ],
  },
  {
    title: 'To decide',
    screens: [
      { name: 'breaks', title: 'Breaks', icon: 'breaks', list: BreaksScreen, one: BreakScreen },
      { name: 'alerts', title: 'Alerts', icon: 'alerts', list: AlertsScreen },
      {
        name: 'payments',
        title: 'Decisions',
        icon: 'decisions',
        list: PaymentsScreen,
        one: PaymentScreen,
      },
      { name: 'disputes', title: 'Disputes', icon: 'disputes', list: DisputesScreen },
      { name: 'runs', title: 'Reconciliation', icon: 'runs', list: RunsScreen, one: RunScreen },
    ],
  },
  {
    title: 'Operations',
    screens: [
      { name: 'signers', title: 'Signers', icon: 'signers', list: SignersScreen },
      { name: 'providers', title: 'Providers', icon: 'providers', list: ProvidersScreen },
      {
        name: 'deliveries',
        title: 'Webhooks',
        icon: 'webhooks',
        list: DeliveriesScreen,
        one: DeliveryScreen,
      },
      { name: 'endpoints', title: 'Endpoints', icon: 'endpoints', list: EndpointsScreen },
      { name: 'users', title: 'Users', icon: 'users', list: UsersScreen },
      { name: 'keys', title: 'API keys', icon: 'keys', list: KeysScreen },
    ],
  },
]

export function screenOf(name: string): Screen | undefined {
  return MENU.flatMap(({ screens }) => screens).find(
    (one) => one.name === name && one.query === undefined,
  )
}
