import { dueOf } from '../domain/gateways.ts'
import type { Currency } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import type { PaymentRequest } from './prepare.ts'
import type { Sender } from './sender.ts'

type BackPayment = Pick<PaymentRequest, 'subject' | 'spender' | 'payee' | 'reference'> & {
  /** Ether, or dollars by the dollar token. */
  currency: Currency
  /** In the smallest unit of the currency. */
  amount: bigint
}

type AcceptBack = (db: Db) => Promise<{ hash: Hex }>

/**
 * From the address that was paid, through the contract, so that it is proven as a payment is. The
 * contract may take the tokens of one payment, and only for as long as that payment takes.
 */
export function createPayBack(deps: { sender: Sender; payer: Hex; signal: AbortSignal }) {
  const { sender, payer, signal } = deps
  return {
    async prepare(db: Db, { currency, ...payment }: BackPayment): Promise<AcceptBack> {
      const amount = dueOf({ ...payment, currency })
      const route = currency === 'ETH' ? CONTRACT : TOKEN
      const order = { ...payment, way: 'refund', payer, amount, ...route } as const
      const prepared = await sender.own(db, payer, () => sender.prepare(db, order, signal))
      return (db) => sender.own(db, payer, () => sender.accept(db, prepared))
    },
    kick: sender.kick,
  }
}

const CONTRACT = { route: 'contract' } as const
const TOKEN = { route: 'token', withAllowance: true } as const
