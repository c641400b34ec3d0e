import { checksummed } from '../../../../chain/hex.ts'
import { CURRENCY_DECIMALS, formatAmount } from '../../../../domain/money.ts'
import {
  BlockchainBalanceQuerySchema,
  BlockchainBalanceSchema,
} from '../../../../wire/group-b/blockchain.ts'
import { exactNumber } from '../../../../wire/json.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { chainNamed, type Chains } from '../../../chains.ts'
import { fieldsOf } from '../fields.ts'
import type { BlockchainPayments } from './payments.ts'

export function blockchainBalanceEndpoint(deps: {
  chains: Chains<{ payments: Pick<BlockchainPayments, 'addressOf' | 'balanceOf' | 'tokensOf'> }>
}): Endpoint {
  return defineEndpoint({
    route: 'GET /api/blockchain/balance',
    operationId: 'getBlockchainBalance',
    summary: 'Read the balances of your address, in the native coin and in tokens',
    tag: 'Blockchain',
    access: 'blockchain:read',
    query: BlockchainBalanceQuerySchema,
    answer: BlockchainBalanceSchema,
    // Whatever a provider refuses passes by itself.
    refusals: {},
    handle: async ({ query, caller }) => {
      const { name, coin, payments } = chainNamed(deps.chains, query.chain, 'query.chain')
      const address = await payments.addressOf(caller.userId)
      const [wei, tokens] = await Promise.all([
        payments.balanceOf(address),
        payments.tokensOf(address),
      ])
      const eth = formatAmount({ amount: wei, decimals: CURRENCY_DECIMALS.ETH })
      return {
        success: true as const,
        chain: name,
        coin,
        address: checksummed(address),
        balance_eth: exactNumber(eth),
        balance_wei: String(wei),
        tokens: tokens.map(({ token: { address, ...token }, amount }) => ({
          ...fieldsOf(token, 'currency', 'symbol', 'decimals'),
          token: checksummed(address),
          balance: exactNumber(formatAmount({ amount, decimals: token.decimals })),
          balance_units: String(amount),
        })),
      }
    },
  })
}
