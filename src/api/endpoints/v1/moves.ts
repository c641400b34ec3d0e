import type { Static } from 'typebox'

import { checksummed } from '../../../chain/hex.ts'
import type { Caller } from '../../../domain/access.ts'
import type { LedgerAmount, WireDestination } from '../../../domain/ledger.ts'
import { CURRENCY_DECIMALS } from '../../../domain/money.ts'
import type { Hex } from '../../../domain/orders.ts'
import { decimalOf, readMoney } from '../../../wire/group-a/money.ts'
import type { TransferCreateSchema } from '../../../wire/group-a/transfers.ts'
import type { Move } from '../../admission/screen.ts'

/** What a wire moves, for the screen. */
export function wireMove(asked: {
  caller: Caller
  money: LedgerAmount
  destination: Partial<WireDestination>
}): Move {
  const { caller, money, destination } = asked
  const { name, addressLine1, accountNumber, routingNumber } = destination
  return {
    field: 'destination',
    way: 'wire',
    userId: caller.userId,
    amount: decimalOf(money.amount),
    currency: money.currency,
    beneficiary: { name, addressLine1, accountNumber, routingNumber },
  }
}

/** What leaves by a transfer; nothing where the money stays in the caller's wallets. */
export function transferMoves(asked: {
  body: Static<typeof TransferCreateSchema>
  caller: Caller
  withdrawal?: LedgerAmount & { address: Hex; on: { name: string } }
}): Move[] {
  const { body, caller, withdrawal } = asked
  const { source, destination } = body
  if (withdrawal !== undefined) {
    const { amount, currency, address, on } = withdrawal
    const money = { userId: caller.userId, amount: decimalOf(amount), currency }
    const to = { chain: on.name, address: checksummed(address) }
    return [{ field: 'destination.address', way: 'withdrawal', ...money, ...to }]
  }
  if (source.type !== 'blockchain' || destination.type !== 'wire') return []
  const money = readMoney(body, { decimals: CURRENCY_DECIMALS.USD })
  return [wireMove({ caller, money, destination })]
}
