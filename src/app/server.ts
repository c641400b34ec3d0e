/** The published entry `quittance/server`: the whole platform, started by another program. */
import '../base/require-node.ts'

export type { Screen, ScreenAnswer, ScreenedPayment } from '../api/admission/screen.ts'
export { startApp, type App, type AppOptions, type Role, type StartStep } from '../app.ts'
export { parseConfig, type Config } from '../base/config.ts'
export { createLogger, type Logger } from '../base/logger.ts'
export type { OwnSigner, OwnSigners, SignRequest } from '../chain/signers/own-signers.ts'
export type { BankOrder, BankTransfer } from '../rails/bank.ts'
export { RefusedError } from '../rails/own/ask-own.ts'
export type { OwnBank } from '../rails/own/bank.ts'
export type {
  OpenedCharge,
  OwnCharge,
  OwnChargeView,
  OwnGateway,
  OwnGatewayNews,
  OwnRefund,
  OwnRefundView,
} from '../rails/own/gateway.ts'
export type { DisputeView, Webhook } from '../rails/gateway.ts'
export type { OwnParts } from './start/own-parts.ts'
