/**
 * Every bound that keeps one caller, one answer or one wait from growing without end. Units stand
 * last.
 */
export const limits = {
  requestBodyBytes: 64 * 1024,
  /** A thousand payments, and what is said of each. */
  batchBodyBytes: 1024 * 1024,
  requestHeaderBytes: 16 * 1024,
  /** The deepest body that we define has four levels. */
  jsonDepth: 16,
  requestTimeoutMs: 10_000,
  requestTimeoutCheckMs: 1_000,
  handlerTimeoutMs: 30_000,
  /** For requests that share one SQL transaction, and for what is then done one by one. */
  togetherMs: 10_000,
  /** For how long the same figures answer everybody who asks for metrics. */
  metricsAgeMs: 1_000,
  checkoutPageMs: 1_000,
  cachedCheckouts: 1_000,
  /**
   * Connections that wait to be accepted. Past the 511 that Node lets wait, a flood makes the
   * system drop them, and each comes again after one, three or seven seconds.
   */
  waitingConnections: 4_096,
  /** Requests that wait for their turn, in each lane. */
  doorWaiting: 2_000,
  /**
   * A request that would wait longer is refused at once. If the estimate was wrong, it is refused
   * after three times as long, so that each admitted request has an answer within two seconds.
   */
  doorWaitMs: 500,
  /** Above it fewer requests are at work at once. */
  doorAimMs: 400,
  /** A stream ends after that, and its client comes again. */
  streamMs: 300_000,
  /** What is younger may still be stored, so that an export leaves it to the next one. */
  exportSettleMs: 30_000,
  streams: 100,
  streamsOfAdmins: 30,
  /** Of each process, so that one user cannot take all of them. */
  streamsOfUser: 10,
  streamEvents: 500,
  rpcTimeoutMs: 10_000,
  rpcAnswerBytes: 32 * 1024 * 1024,
  rpcConcurrentCalls: 16,
  rpcQueuedCalls: 10_000,
  rpcBatchItems: 100,
  /** Of a signer elsewhere, so that it can be asked again within `togetherMs`. */
  signerTimeoutMs: 4_000,
  /** Of a screen that another program brings, for each payment. */
  screenMs: 5_000,
  databaseConnectTimeoutMs: 5_000,
  databaseStartMs: 60_000,
  /** Each of these ends before a request does, so that its caller learns what it was. */
  databaseStatementTimeoutMs: 20_000,
  databaseAnswerTimeoutMs: 25_000,
  databaseLockTimeoutMs: 5_000,
  /** A process that stands still keeps what it has locked from the others for that long. */
  databaseIdleTransactionMs: 10_000,
  databaseIdleConnectionMs: 10_000,
  databaseKeepAliveMs: 5_000,
  databaseGoodbyeMs: 1_000,
  databaseConnections: 16,
  /** Of them in use at a time, unless one is kept, or waited for, for `databaseTurnMs`. */
  databaseTurns: 4,
  databaseTurnMs: 100,
  /** How long a loop may go without the end of a pass, or of a part of a long one. */
  senderStillMs: 120_000,
  webhooksStillMs: 120_000,
  reconcilerStillMs: 600_000,
  railsStillMs: 300_000,
  supplyStillMs: 600_000,
  /** For each part that `/readyz` asks. */
  healthCheckMs: 4_000,
  shutdownStepMs: 5_000,
  /** How long a request that was begun may take to end once the program stops. */
  drainMs: 10_000,
  /** How long a disabled user, a revoked key or a dropped signing key may still be let in. */
  accessStaleMs: 5_000,
  accessRefreshMs: 2_500,
  unknownSigningKeyMs: 1_000,
  passwordChecks: 2,
  passwordWaiters: 100,
  cachedLogins: 10_000,
  /** How long an answer 429 is kept back, so that a flood of them leaves others the processor. */
  rateRefusalMs: 100,
  /** For how long a process may spend what it has reserved of a rate limit. */
  rateLeaseMs: 5_000,
  cachedRateLeases: 50_000,
  cachedTokens: 10_000,
  cachedApiKeys: 10_000,
  cachedUsers: 10_000,
  cachedPayers: 10_000,
  /** What is given out in this time is hardly in a block when the next one is simulated. */
  counterMs: 1000,
  webhookTimeoutMs: 15_000,
  /** For finding out where a new webhook would go, while its creator waits. */
  webhookTargetTimeoutMs: 4_000,
} as const
