/** The published entry `quittance/server`: the whole platform, started by another program. */
import '../base/require-node.ts'

export { startApp, type App, type AppOptions, type Role, type StartStep } from '../app.ts'
export { parseConfig, type Config } from '../base/config.ts'
export { createLogger, type Logger } from '../base/logger.ts'
