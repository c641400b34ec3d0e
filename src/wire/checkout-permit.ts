/**
 * What a payer's wallet signs to pay at the checkout by a permit of ERC-2612, and what the payment
 * then says. The page carries it as JSON.
 */
export type CheckoutPermit = {
  chainId: number
  token: string
  settlement: string
  payee: string
  reference: string
  /** In the units of the token. */
  amount: string
  /** In seconds: the last time of a block at which the permit holds. */
  deadline: number
  /** The token's name and version, which its permits are signed for. */
  name: string
  version: string
}
