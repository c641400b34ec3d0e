import { AlertsScreen } from '../screens/alerts.tsx'
import { BatchesScreen, BatchScreen } from '../screens/batches.tsx'
import { DeliveriesScreen, DeliveryScreen } from '../screens/deliveries.tsx'
import { DisputesScreen } from '../screens/disputes.tsx'
import { EndpointsScreen } from '../screens/endpoints.tsx'
import { KeysScreen } from '../screens/keys.tsx'
import { MintsScreen, RedeemsScreen, WiresScreen } from '../screens/movements.tsx'
import { ProvidersScreen } from '../screens/providers.tsx'
import { RunScreen, RunsScreen } from '../screens/runs.tsx'
import { SendBatchScreen } from '../screens/send-batch.tsx'
import { SendScreen } from '../screens/send.tsx'
import { SignersScreen } from '../screens/signers.tsx'
import { PaymentScreen, PaymentsScreen } from '../screens/undecided-payments.tsx'
import { UsersScreen } from '../screens/users.tsx'
import { WalletScreen, WalletsScreen } from '../screens/wallets.tsx'

/** What a first look does not need, as one file that is loaded when one of them is opened. */
export const OTHER_SCREENS = {
  alerts: AlertsScreen,
  batch: BatchScreen,
  batches: BatchesScreen,
  deliveries: DeliveriesScreen,
  delivery: DeliveryScreen,
  disputes: DisputesScreen,
  endpoints: EndpointsScreen,
  keys: KeysScreen,
  mints: MintsScreen,
  payment: PaymentScreen,
  payments: PaymentsScreen,
  providers: ProvidersScreen,
  redeems: RedeemsScreen,
  run: RunScreen,
  runs: RunsScreen,
  send: SendScreen,
  'send-batch': SendBatchScreen,
  signers: SignersScreen,
  users: UsersScreen,
  wallet: WalletScreen,
  wallets: WalletsScreen,
  wires: WiresScreen,
}
