const { availableParallelism } = require('node:os')

module.exports = {
  ignore: ['test/contracts/**'],
  require: ['test/support/hooks.ts'],
  // No test needs a tenth of it on an idle machine: it ends what hangs, also on a slow and busy one.
  timeout: 300_000,
  forbidOnly: true,
  forbidPending: true,
  // Many tests wait for a chain or a program: two at once pay off even where there is one core. On
  // one PostgreSQL server they would hold back each other's events, which follow its transactions.
  parallel: process.env.DATABASE_URL === undefined,
  jobs: Math.max(2, availableParallelism() - 1),
}
