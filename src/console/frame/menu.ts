import type { ComponentType } from 'preact'

import type { IconName } from '../parts/icon.tsx'
import type { ScreenProps } from '../route.ts'
import { BreakScreen } from '../screens/break.tsx'
import { BreaksScreen } from '../screens/breaks.tsx'
import { OverviewScreen } from '../screens/overview.tsx'
import { TransactionScreen } from '../screens/transaction.tsx'
import { TransactionsScreen } from '../screens/transactions.tsx'
import { onDemand } from './on-demand.tsx'

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
      {
        name: 'send',
        title: 'Send',
        icon: 'send',
        list: onDemand('send'),
        one: onDemand('send-batch'),
      },
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
        list: onDemand('batches'),
        one: onDemand('batch'),
      },
      {
        name: 'transactions',
        title: 'Deposits',
        icon: 'deposits',
        list: TransactionsScreen,
        query: { type: 'deposit' },
      },
      { name: 'mints', title: 'Mints', icon: 'mints', list: onDemand('mints') },
      { name: 'redeems', title: 'Redeems', icon: 'redeems', list: onDemand('redeems') },
      { name: 'wires', title: 'Wires', icon: 'wires', list: onDemand('wires') },
      {
        name: 'wallets',
        title: 'Wallets',
        icon: 'wallets',
        list: onDemand('wallets'),
        one: onDemand('wallet'),
      },
    ],
  },
  {
    title: 'To decide',
    screens: [
      { name: 'breaks', title: 'Breaks', icon: 'breaks', list: BreaksScreen, one: BreakScreen },
      { name: 'alerts', title: 'Alerts', icon: 'alerts', list: onDemand('alerts') },
      {
        name: 'payments',
        title: 'Decisions',
        icon: 'decisions',
        list: onDemand('payments'),
        one: onDemand('payment'),
      },
      { name: 'disputes', title: 'Disputes', icon: 'disputes', list: onDemand('disputes') },
      {
        name: 'runs',
        title: 'Reconciliation',
        icon: 'runs',
        list: onDemand('runs'),
        one: onDemand('run'),
      },
    ],
  },
  {
    title: 'Operations',
    screens: [
      { name: 'signers', title: 'Signers', icon: 'signers', list: onDemand('signers') },
      { name: 'providers', title: 'Providers', icon: 'providers', list: onDemand('providers') },
      {
        name: 'deliveries',
        title: 'Webhooks',
        icon: 'webhooks',
        list: onDemand('deliveries'),
        one: onDemand('delivery'),
      },
      { name: 'endpoints', title: 'Endpoints', icon: 'endpoints', list: onDemand('endpoints') },
      { name: 'users', title: 'Users', icon: 'users', list: onDemand('users') },
      { name: 'keys', title: 'API keys', icon: 'keys', list: onDemand('keys') },
    ],
  },
]

export function screenOf(name: string): Screen | undefined {
  return MENU.flatMap(({ screens }) => screens).find(
    (one) => one.name === name && one.query === undefined,
  )
}
