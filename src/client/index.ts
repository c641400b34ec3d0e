/** The published entry `quittance/client`: typed clients of the platform. */
import '../base/require-node.ts'

export type { Administration } from './admin.ts'
export type * as admin from './admin-types.ts'
export { ApiError, type ApiErrorCode, type ClientErrorCode, type FieldError } from './errors.ts'
export type { FollowOptions } from './pages.ts'
export {
  createPlatformClient,
  type PlatformClient,
  type PlatformClientOptions,
} from './platform-client.ts'
export type * from './platform-types.ts'
export {
  createPaymentsClient,
  type PaymentsClient,
  type PaymentsClientOptions,
} from './payments-client.ts'
export type * as payments from './payments-types.ts'
export type { Runtime } from './runtime.ts'
export type { Open } from './parsed.ts'
export type { CallOptions, KeySupport, PostOptions } from './transport.ts'
export { verifyWebhook, type SignedRequest, type WebhookNotification } from './webhooks.ts'
