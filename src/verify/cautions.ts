import type { Expected } from './match.ts'
import type { Payment } from './read-payments.ts'

/** What was claimed of the payment; what was not is what a caution may be about. */
export type Claimed = Pick<Expected, 'token' | 'amount'>

/**
 * Why a payment that is there may still be worth less than it seems. Anybody can move nothing in
 * the name of others, issue a token, or send money to and fro.
 */
export function cautionsOf(
  payment: Payment,
  { payments, claimed }: { payments: readonly Payment[]; claimed: Claimed },
): string[] {
  const { kind, token, amount, payer, payee } = payment
  const back = sentBack(payment, payments)
  return [
    ...(token !== null && claimed.token === undefined
      ? [`The token ${token} was not named. Anyone can issue a token, and it can be worth nothing.`]
      : []),
    ...(amount === 0n && claimed.amount === undefined
      ? ['The amount is 0: anyone can send 0 from any address to any other.']
      : []),
    ...(payer !== null && payer === payee ? ['The payer and the payee are one address.'] : []),
    ...(back > 0n
      ? [
          `The same transaction sends ${back === amount ? 'it' : `${back} units`} back to the payer.`,
        ]
      : []),
    ...(kind === 'mint' ? ['It is a mint: the token made the money, and nobody paid it.'] : []),
    ...(kind === 'burn' ? ['It is a burn: the money was destroyed, and nobody received it.'] : []),
  ]
}

/** The caution for a payment that has too few blocks after it. */
export const NOT_FINAL = 'It is not final yet: the chain can still lose it.'

/** The caution for a block that one provider names and no other confirms. */
export function aloneFor(agreeing: readonly string[]): string[] {
  const [only, ...others] = agreeing
  if (only === undefined || others.length > 0) return []
  return [`Only ${only} says that the block is part of the chain.`]
}

/** The caution for a search that finds nothing and has only one provider. */
export function aloneAsked(providers: readonly { name: string }[]): string[] {
  const [only, ...others] = providers
  if (only === undefined || others.length > 0) return []
  return [`No second provider confirms that ${only.name} withholds nothing.`]
}

/** How much the payee gives back to the payer, by the events of the same receipt. */
export function sentBack(payment: Payment, payments: readonly Payment[]): bigint {
  const { token, payer, payee } = payment
  if (payer === null || payee === null || payer === payee) return 0n
  return payments
    .filter((one) => one.kind === 'transfer' && one.contract === one.token)
    .filter((one) => one.token === token && one.payer === payee && one.payee === payer)
    .reduce((sum, { amount }) => sum + amount, 0n)
}
