import type { Hex } from 'viem'

import { selectorOf } from './events.ts'

/** What errors say of a payment that they stopped, by their signatures. */
const WORDS: Readonly<Record<string, string>> = {
  'AccountFrozen(address)': 'The token has frozen the address.',
  'EnforcedPause()': 'The token is paused.',
  'ERC20InsufficientBalance(address,uint256,uint256)': 'The payer has too little of the token.',
  'ERC20InsufficientAllowance(address,uint256,uint256)': 'The allowance is too small.',
  'ERC20InvalidReceiver(address)': 'The token does not pay this address.',
  'ERC20InvalidSender(address)': 'The token does not let this address pay.',
  'SafeERC20FailedOperation(address)': 'The token says that it did not pay.',
  'PaymentRefused(address,uint256)': 'The payee does not take the payment.',
  'Error(string)': 'It gives its reason as a text, which the event does not keep.',
  'Panic(uint256)': 'Its code failed.',
}

const BY_SELECTOR = new Map(
  Object.entries(WORDS).map(([signature, words]) => [selectorOf(signature), words]),
)

/** Why a payment of a batch failed, by the selector that the contract logs. */
export function wordsOfRefusal(selector: Hex): string {
  if (/^0x0+$/.test(selector)) return 'It gives no reason.'
  return BY_SELECTOR.get(selector) ?? `It gives the error ${selector}, which is not known here.`
}
