import type { Clock } from '../../base/clock.ts'
import type { Environment } from '../../base/config.ts'
import type { Institution } from '../../domain/gateways.ts'
import type { RandomBytes } from '../../domain/ids.ts'
import type { LedgerContext } from '../../ledger/context.ts'
import type { Db } from '../../store/database/database.ts'
import type { OverviewWire } from '../../wire/group-b/admin.ts'
import type { Access } from '../access/access.ts'
import type { Endpoint } from '../admission/endpoint.ts'
import type { Chains } from '../chains.ts'
import { alertEndpoints } from './api/admin/alerts.ts'
import { keyEndpoints } from './api/admin/keys.ts'
import { limitEndpoints } from './api/admin/limits.ts'
import { everyonesBatchEndpoint, everyonesBatchListEndpoint } from './api/admin/batches.ts'
import { disputeListEndpoint, movementListEndpoint } from './api/admin/movements.ts'
import { overviewEndpoint } from './api/admin/overview.ts'
import { paymentDecideEndpoint, undecidedListEndpoint } from './api/admin/payments.ts'
import { postingListEndpoint } from './api/admin/postings.ts'
import { sampleListEndpoint } from './api/admin/samples.ts'
import { everywhereEndpoint } from './api/admin/search.ts'
import { signerListEndpoint, type SignersDeps } from './api/admin/signers.ts'
import { statisticsEndpoint } from './api/admin/statistics.ts'
import { everyonesListEndpoint, lifeEndpoint } from './api/admin/transactions.ts'
import { userEndpoints } from './api/admin/users.ts'
import { creditLineEndpoint, everyonesWalletListEndpoint } from './api/admin/wallets.ts'
import { blockchainBalanceEndpoint } from './api/blockchain/balance.ts'
import { batchEndpoints } from './api/blockchain/batches.ts'
import type { BlockchainPayments } from './api/blockchain/payments.ts'
import { blockchainCreateEndpoint } from './api/blockchain/transactions.ts'
import { breakEndpoints, type BreakChecks } from './api/breaks.ts'
import { deliveryEndpoints } from './api/deliveries.ts'
import { eventListEndpoint } from './api/events.ts'
import { paymentEndpoints, type PaymentDesk } from './api/payments/create.ts'
import { runEndpoints, type RequestRun } from './api/runs.ts'
import { solvencyEndpoint } from './api/solvency.ts'
import { exportEndpoint } from './api/export.ts'
import { streamEndpoint } from './api/stream.ts'
import { tokenEndpoint } from './api/token.ts'
import { transactionDetailEndpoint } from './api/transactions/detail.ts'
import { transactionListEndpoint } from './api/transactions/list.ts'
import { receiptCreateEndpoint, type ProvePayment } from './api/transactions/receipt.ts'
import { transferEndpoints } from './api/transfers.ts'
import { pingEndpoint } from './ping.ts'
import { recipientEndpoints } from './v1/business-account/recipients.ts'
import { mintEndpoints, type MintingChain } from './v1/business-account/transfers.ts'
import { configurationEndpoint } from './v1/configuration.ts'
import { subscriptionDeliveryEndpoints } from './v1/notifications/deliveries.ts'
import { subscriptionEndpoints, type SubscriptionDeps } from './v1/notifications/subscriptions.ts'
import { bankPaymentEndpoints } from './v1/payments.ts'
import type { PayingBank } from './v1/sides.ts'
import { walletTransferEndpoints, type TransferChain } from './v1/transfers.ts'
import { walletEndpoints } from './v1/wallets.ts'

/** What the endpoints need. The composition root puts it together. */
export type Ground<Payment, Mint, PayOut> = Pick<Access, 'tokens' | 'limitLogin'> &
  AdminGround &
  GroupAGround<Mint, PayOut> & {
    db: Db
    /** Aborted when the program stops. */
    signal: AbortSignal
    /** Aborted when nothing new is begun any more, before that. */
    closing: AbortSignal
    desk: PaymentDesk
    institutions: readonly Institution[]
    kickWires: () => void
    kickRuns: () => void
    chains: Chains<ServedChain<Payment, Mint, PayOut>>
  }

/** What the operations on one chain need. */
export type ServedChain<Payment = unknown, Mint = unknown, PayOut = unknown> = AdminChain &
  MintingChain<Mint> &
  TransferChain<Mint, PayOut> & {
    payments: BlockchainPayments<Payment>
    provePayment: ProvePayment
    requestRun: RequestRun
    breakChecks: BreakChecks
  }

type AdminChain = SignersDeps & { providers: () => OverviewWire['providers'] }

type AdminGround = {
  clock: Clock
  environment: Environment
  chains: Chains<AdminChain>
  randomBytes: RandomBytes
  forgetUser: Access['forgetUser']
}

type GroupAGround<Mint, PayOut> = SubscriptionDeps & {
  ledger: LedgerContext
  chains: Chains<MintingChain<Mint> & TransferChain<Mint, PayOut>>
  bank: PayingBank
  createUuid: () => string
}

/** Every operation of both groups. */
export function createEndpoints<Payment, Mint, PayOut>(
  ground: Ground<Payment, Mint, PayOut>,
): Endpoint[] {
  return [
    tokenEndpoint(ground),
    transactionListEndpoint(ground),
    transactionDetailEndpoint,
    receiptCreateEndpoint(ground),
    eventListEndpoint,
    streamEndpoint(ground),
    exportEndpoint(ground),
    blockchainCreateEndpoint(ground),
    blockchainBalanceEndpoint(ground),
    ...batchEndpoints(ground),
    ...paymentEndpoints(ground),
    ...transferEndpoints(ground),
    solvencyEndpoint(ground),
    ...deliveryEndpoints(),
    ...runEndpoints(ground),
    ...breakEndpoints(ground),
    ...adminEndpoints(ground),
    ...groupAEndpoints(ground),
  ]
}

/** What the console needs, in addition to the operations that everybody may use. */
export function adminEndpoints(ground: AdminGround): Endpoint[] {
  return [
    overviewEndpoint(ground),
    sampleListEndpoint(ground),
    signerListEndpoint(ground),
    everyonesListEndpoint(ground),
    lifeEndpoint,
    everyonesBatchListEndpoint(ground),
    everyonesBatchEndpoint,
    undecidedListEndpoint,
    paymentDecideEndpoint,
    everyonesWalletListEndpoint,
    creditLineEndpoint,
    postingListEndpoint,
    everywhereEndpoint,
    movementListEndpoint,
    disputeListEndpoint,
    statisticsEndpoint(ground),
    ...alertEndpoints(ground),
    ...userEndpoints(ground),
    ...keyEndpoints(ground),
    ...limitEndpoints(ground),
  ]
}

export function groupAEndpoints<Mint, PayOut>(ground: GroupAGround<Mint, PayOut>): Endpoint[] {
  return [
    pingEndpoint,
    configurationEndpoint,
    ...walletEndpoints(),
    ...bankPaymentEndpoints(ground),
    ...walletTransferEndpoints(ground),
    ...mintEndpoints(ground),
    ...recipientEndpoints(ground),
    ...subscriptionEndpoints(ground),
    ...subscriptionDeliveryEndpoints(),
  ]
}
