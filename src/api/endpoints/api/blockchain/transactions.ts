import { actorOf } from '../../../../domain/access.ts'
import { dueOf } from '../../../../domain/gateways.ts'
import { createId, type RandomBytes } from '../../../../domain/ids.ts'
import type { Hex } from '../../../../domain/orders.ts'
import { readAmount } from '../../../../wire/amounts.ts'
import {
  BlockchainCreatedSchema,
  BlockchainCreateSchema,
} from '../../../../wire/group-b/blockchain.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { chainNamed, type Chains } from '../../../chains.ts'
import { readPaidIn } from './currencies.ts'
import { requireNew } from './external-ids.ts'
import {
  acceptPayments,
  toMove,
  kickAll,
  PAYMENT_FAILURES,
  PAYMENT_REFUSALS,
  type BlockchainPayment,
  type BlockchainPayments,
} from './payments.ts'

/** Accepts an order and answers with the hash of what was signed; nothing is sent before that. */
export function blockchainCreateEndpoint<Prepared>(deps: {
  chains: Chains<{ payments: BlockchainPayments<Prepared> }>
  randomBytes: RandomBytes
}): Endpoint {
  const { chains, randomBytes } = deps
  return defineEndpoint({
    route: 'POST /api/blockchain/transactions',
    operationId: 'createBlockchainTransaction',
    summary: 'Send the native coin, the stablecoin or another token from your address',
    description:
      'Gas is paid in the coin of the chain for every currency. The answer arrives at once, ' +
      'with the hash of the transaction that is signed and stored. A higher fee later changes ' +
      'the hash; the detail lists every attempt.',
    tag: 'Blockchain',
    access: 'blockchain:write',
    body: BlockchainCreateSchema,
    status: 201,
    answer: BlockchainCreatedSchema,
    failures: PAYMENT_FAILURES,
    prepare: async ({ body, caller, db }) => {
      const chain = chainNamed(chains, body.chain)
      const { payments } = chain
      const { unit, token, isCoin } = readPaidIn(chain, body.currency)
      const { currency } = unit
      const amount = readAmount({ amount: body.amount, ...unit })
      const externalIds = [{ field: 'external_id', externalId: body.external_id }]
      await requireNew(db, { userId: caller.userId, externalIds })
      const transactionId = createId('TX', randomBytes)
      const payment = await payments.prepare(db, {
        subject: transactionId,
        spender: actorOf(caller),
        ...(isCoin ? COIN_WAYS : TOKEN_WAYS)[body.use_contract ? 'contract' : 'plain'],
        token,
        payer: await payments.addressOf(caller.userId),
        payee: body.to_address as Hex,
        amount: dueOf({ amount, currency }),
      })
      return { amount, unit, transactionId, payment, chain }
    },
    moves: ({ body, caller, prepared }) => [toMove({ ...prepared, caller, item: body })],
    refusals: PAYMENT_REFUSALS,
    handleAll: acceptPayments,
    onCommitted: () => kickAll(chains),
  })
}

type Ways = Record<'plain' | 'contract', Pick<BlockchainPayment, 'route' | 'withAllowance'>>

const COIN_WAYS: Ways = { plain: { route: 'direct' }, contract: { route: 'contract' } }
const TOKEN_WAYS: Ways = {
  plain: { route: 'transfer' },
  contract: { route: 'token', withAllowance: true },
}
