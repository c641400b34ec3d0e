import { checksummed } from '../../../chain/hex.ts'
import type { Stablecoin } from '../../../ledger/context.ts'
import {
  listFindings,
  readSolvency,
  type Solvency,
  type SupplyFindingRow,
} from '../../../store/ledger/supply.ts'
import { RequestError } from '../../../wire/errors.ts'
import { decimalOf } from '../../../wire/group-a/money.ts'
import { OfChainQuerySchema } from '../../../wire/group-b/admin.ts'
import { SolvencySchema, type SolvencyWire } from '../../../wire/group-b/solvency.ts'
import { LIST_LIMIT_MAX } from '../../../wire/shapes.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { chainNamed, type Chains } from '../../chains.ts'
import { fieldsOf } from './fields.ts'

export function solvencyEndpoint({
  chains,
}: {
  chains: Chains<{ stablecoin: Stablecoin | undefined }>
}): Endpoint {
  return defineEndpoint({
    route: 'GET /api/solvency',
    operationId: 'getSolvency',
    summary: 'Compare the supply of the stablecoin with what the ledger owes',
    description:
      'They are compared at each new final block, without tolerance. What is minted and not yet ' +
      'complete is shown separately, and every other difference is a drift.',
    tag: 'Solvency',
    access: 'admin',
    query: OfChainQuerySchema,
    answer: SolvencySchema,
    failures: ['contract_not_configured'],
    handle: async ({ query, db }) => {
      const { name, stablecoin } = chainNamed(chains, query.chain, 'query.chain')
      if (stablecoin === undefined) {
        const message = 'This chain has no stablecoin. Set STABLECOIN_ADDRESS.'
        throw new RequestError('contract_not_configured', message)
      }
      const solvency = await readSolvency(db, stablecoin)
      if (solvency === undefined) {
        const message = 'Nothing is compared yet. Ask again when a block is final.'
        throw new RequestError('unavailable', message, { headers: { 'retry-after': '1' } })
      }
      const { chainId: chain_id, token } = stablecoin
      const findings = await listFindings(db, { chainId: chain_id, limit: LIST_LIMIT_MAX })
      return {
        success: true as const,
        chain_id,
        chain: name,
        token: checksummed(token),
        ...figuresOf(solvency),
        findings: findings.map(findingWire),
      }
    },
  })
}

function figuresOf(solvency: Solvency) {
  const { drift } = solvency
  return {
    ...fieldsOf(solvency, 'blockNumber', 'checkedAt'),
    holds: drift === 0n,
    supply: decimalOf(solvency.supply),
    liability: decimalOf(solvency.liability),
    mints_ahead: decimalOf(solvency.mintsAhead),
    mints_behind: decimalOf(solvency.mintsBehind),
    drift: decimalOf(drift),
  }
}

function findingWire(row: SupplyFindingRow): SolvencyWire['findings'][number] {
  return {
    ...fieldsOf(row, 'finding', 'kind', 'transactionHash', 'blockNumber', 'transferId'),
    token: checksummed(row.token),
    holder: checksummed(row.holder),
    amount: decimalOf(row.amount),
    reference: row.memo,
    created_at: row.readAt.toISOString(),
  }
}
