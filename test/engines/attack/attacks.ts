import type { Attack } from './attack.ts'
import { crowd } from './crowd.ts'
import { databaseDown } from './database-down.ts'
import { diskFull } from './disk-full.ts'
import { frozenConnections } from './frozen-connections.ts'
import { frozenProcess } from './frozen-process.ts'
import { gauges } from './gauges.ts'
import { lockFile } from './lock-file.ts'
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
  diskFull,
  startRefused,
  lockFile,
  logCanary,
  sameKey,
  webhooks,
  strangers,
  gauges,
  overload,
  crowd,
  publicRoutes,
]
