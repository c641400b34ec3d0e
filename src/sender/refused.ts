import { BaseError } from '../base/errors.ts'
import type { Hex } from '../domain/orders.ts'
import { LimitReachedError } from '../domain/spending.ts'

export function badPayee(code: string, payee: Hex): OrderRefusedError {
  return refused(code, `${payee} cannot be paid. Check the address and its checksum.`)
}

export function insufficientFunds(signer: Hex): OrderRefusedError {
  return refused(
    'insufficient_funds',
    `${signer} has too little for this payment, its gas and the payments in progress. Send coin to it.`,
  )
}

export function tooMuchGas(gas: bigint, maximum: bigint): OrderRefusedError {
  return refused('gas_too_high', `The payment takes ${gas} gas, but at most ${maximum} is allowed.`)
}

export function unreachable(cause: unknown): OrderRefusedError {
  return new OrderRefusedError('No provider answered. Nothing was sent; try again later.', {
    code: 'chain_unreachable',
    retryable: true,
    cause,
  })
}

export function refused(code: string, sentence: string): OrderRefusedError {
  return new OrderRefusedError(sentence, { code })
}

export type Refusal = OrderRefusedError | LimitReachedError

export function isRefusal(error: unknown): error is Refusal {
  return error instanceof OrderRefusedError || error instanceof LimitReachedError
}

/** The order was not accepted: nothing is stored, nothing is signed, nothing will be sent. */
export class OrderRefusedError extends BaseError {
  override readonly name = 'OrderRefusedError'
}
