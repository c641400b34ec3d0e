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
export function createPayBack(deps: {
  sender: Sender
  payer: Hex
  settlement: Hex
  signal: AbortSignal
}) {
  const { sender, payer, settlement, signal } = deps
  return {
    async prepare(db: Db, { currency, ...payment }: BackPayment): Promise<AcceptBack> {
      const amount = dueOf({ ...payment, currency })
      const prepare = async (request: Pick<PaymentRequest, 'route'> & Partial<PaymentRequest>) =>
        sender.prepare(db, { ...payment, payer, amount, ...request }, signal)
      if (currency === 'ETH') {
        const prepared = await prepare({ route: 'contract' })
        return (db) => sender.accept(db, prepared)
      }
      const subject = `${payment.subject}-allowance`
      const paying = await prepare({ route: 'token' })
      const allowing = { subject, payee: settlement, reference: undefined }
      const allowance = await prepare({ ...allowing, route: 'allowance' })
      return async (db) => {
        // At two nonces in a row: the payment finds its allowance, or is not paid and fails.
        const [allowed, paid] = await sender.acceptAll(db, [allowance, paying])
        if (allowed?.ok !== true) throw allowed?.error
        if (paid?.ok !== true) throw paid?.error
        return paid.value
      }
    },
    kick: sender.kick,
  }
}
