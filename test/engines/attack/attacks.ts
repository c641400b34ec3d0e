import type { Attack } from './attack.ts'
import { databaseDown } from './database-down.ts'
import { frozenConnections } from './frozen-connections.ts'
import { frozenProcess } from './frozen-process.ts'
import { gauges } from './gauges.ts'
import { logCanary } from './log-canary.ts'
import { overload } from './overload.ts'
import { publicRoutes } from './public-routes.ts'
import { sameKey } from './same-key.ts'
import { slowAnswers } from './slow-answers.ts'
import { startRefused } from './start-refused.ts'
import { strangers } from './strangers.ts'
import { webhooks } from './webhooks.ts'

/** Each is a file of this folder. A new one is added here, and `npm run attack` runs it. */
export const ATTACKS: readonly Attack[] = [
  frozenConnections,
  frozenProcess,
  slowAnswers,
  databaseDown,
  startRefused,
  logCanary,
  sameKey,
  webhooks,
  strangers,
  gauges,
  overload,
  publicRoutes,
]
