import { createRequire } from 'node:module'

import hardhatToolbox from '@nomicfoundation/hardhat-toolbox-mocha-ethers'
import { configVariable, defineConfig } from 'hardhat/config'
import type { HttpNetworkUserConfig } from 'hardhat/types/config'
import type { HardhatPlugin } from 'hardhat/types/plugins'

import { NETWORKS, type Network } from './src/deploy/networks.ts'

const require = createRequire(import.meta.url)

const DEPLOYER_KEY = configVariable('QUITTANCE_DEPLOYER_KEY')
const CHAIN_TYPES = { ethereum: 'l1', op: 'op', arbitrum: 'generic' } as const

/** Tests hold the sizes of what is deployed; tests themselves and coverage may be larger. */
const SIZE_WARNINGS = ['5574', '3860']

/** What coverage compiles beside our own. */
const COVERAGE_SOURCE = '__NomicFoundationCoverage'

/** A warning of the compiler fails the build, as an error does. */
const strictCompiler: HardhatPlugin = {
  id: 'quittance-strict-compiler',
  hookHandlers: {
    solidity: async () => ({
      default: async () => ({
        async invokeSolc(context, compiler, input, config, next) {
          const output = await next(context, compiler, input, config)
          for (const found of output.errors ?? []) {
            if (found.severity !== 'warning') continue
            if (SIZE_WARNINGS.includes(found.errorCode ?? '')) continue
            if (found.formattedMessage?.includes(COVERAGE_SOURCE) === true) continue
            found.severity = 'error'
            found.type = 'Error'
          }
          return output
        },
      }),
    }),
  },
}

export default defineConfig({
  plugins: [hardhatToolbox, strictCompiler],
  // Sourcify and Blockscout ask for no key.
  verify: { etherscan: { apiKey: configVariable('ETHERSCAN_API_KEY') } },
  paths: { tests: { mocha: './test/contracts', solidity: './test/contracts' } },
  test: {
    // As for every other test: it ends what hangs, also on a slow and busy machine.
    mocha: { timeout: 300_000 },
    solidity: {
      fuzz: { runs: Number(process.env['FUZZ_RUNS'] ?? 64), seed: '0x71' },
      invariant: {
        runs: Number(process.env['INVARIANT_RUNS'] ?? 8),
        depth: Number(process.env['INVARIANT_DEPTH'] ?? 64),
        failOnRevert: true,
      },
    },
  },
  networks: {
    default: { type: 'edr-simulated', hardfork: 'osaka' },
    osaka: { type: 'edr-simulated', hardfork: 'osaka' },
    // Experimental in Hardhat: native transfers leave a log there, and new state costs far more, so
    // that the gas limit of a transaction may exceed the cap there by what state costs (EIP-8037).
    amsterdam: { type: 'edr-simulated', hardfork: 'amsterdam', transactionGasCap: false },
    ...Object.fromEntries(
      Object.values(NETWORKS).map((network) => [network.name, connection(network)]),
    ),
  },
  solidity: {
    compilers: [compiler({ viaIR: false, runs: 1_000_000 })],
    overrides: {
      // The settlement contract is small in the newer pipeline; the dollar, with four times as many
      // functions, is cheaper in the older one, which searches the function by halves.
      'contracts/Settlement.sol': compiler({ viaIR: true, runs: 500 }),
    },
  },
})

function compiler(options: { viaIR: boolean; runs: number }) {
  return {
    version: '0.8.37',
    // The compiler comes from npm, so that a closed network can build.
    path: require.resolve('solc/soljson.js'),
    settings: {
      // The oldest version that OpenZeppelin's mcopy allows: every chain we deploy to runs it, and
      // one version everywhere is one creation code everywhere, so one address.
      evmVersion: 'cancun',
      viaIR: options.viaIR,
      optimizer: { enabled: true, runs: options.runs },
      metadata: { bytecodeHash: 'none' },
    },
  }
}

/**
 * Addresses and keys come from the environment or from Hardhat's encrypted keystore, never from a
 * file here.
 */
function connection({ chainId, rpcUrl, rpcVariable, stack }: Network): HttpNetworkUserConfig {
  const url = configVariable(rpcVariable, { default: rpcUrl })
  // A local node signs with the accounts that it has; any other is sent what was signed here.
  if (chainId === undefined) return { type: 'http', url, accounts: 'remote' }
  const chainType = CHAIN_TYPES[stack]
  return { type: 'http', chainType, chainId, url, accounts: [DEPLOYER_KEY] }
}
