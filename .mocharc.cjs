const { spawnSync } = require('node:child_process')
const { enableCompileCache } = require('node:module')
const { availableParallelism } = require('node:os')
const { join } = require('node:path')

// A test that runs `npm start` would else install packages beneath all the others.
const setup = join(__dirname, 'scripts/setup.mjs')
const { status } = spawnSync(process.execPath, [setup, '--check'], { stdio: 'inherit' })
if (status !== 0) process.exit(2)

// What runs the tests, and the programs that they start from their sources, load the same modules:
// one of them compiles each, and the next run none.
process.env.NODE_COMPILE_CACHE ??= join(__dirname, 'node_modules/.cache/quittance/tests')
if (process.env.NODE_COMPILE_CACHE !== '') enableCompileCache(process.env.NODE_COMPILE_CACHE)

// On one PostgreSQL server the tests would hold back each other's events, which follow its
// transactions, so each of those that run at once has a server of its own: DATABASE_URL may name
// several, with spaces between them.
const servers = (process.env.DATABASE_URL ?? '').split(' ').filter((url) => url !== '')

module.exports = {
  ignore: ['test/contracts/**'],
  require: ['test/fixtures/hooks.ts'],
  reporter: './test/fixtures/slowest.cjs',
  // No test needs a tenth of it on an idle machine: it ends what hangs, also on a slow and busy one.
  timeout: 300_000,
  forbidOnly: true,
  forbidPending: true,
  // Many tests wait for a chain or a program: four at once pay off on two cores.
  parallel: servers.length !== 1,
  jobs: servers.length > 1 ? servers.length : Math.max(4, availableParallelism()),
}
