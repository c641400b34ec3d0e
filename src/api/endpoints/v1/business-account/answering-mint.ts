import { createAnswering, later, ofPayee } from '../../../admission/refusals.ts'

/** Runs the work and turns what the sender refuses into the answer that the caller gets. */
export const answeringMint = createAnswering({
  ...ofPayee({ failure: 'invalid_request', field: 'destination.address', groupA: 5014 }),
  amount_not_positive: { failure: 'invalid_request', field: 'amount', groupA: 1077 },
  simulation_failed: { failure: 'payment_would_fail', field: 'destination.address' },
  gas_too_high: { failure: 'payment_would_fail', field: 'destination.address' },
  minter_missing: { failure: 'contract_not_configured', field: 'destination.chain' },
  mint_allowance_used_up: { failure: 'contract_not_configured', field: 'destination.chain' },
  mint_allowance_exceeded: { failure: 'limit_exceeded', field: 'amount' },
  stablecoin_not_configured: { failure: 'contract_not_configured', field: 'destination.chain' },
  // The minter lacks ether for the gas, which is no fault of the caller's wallet.
  insufficient_funds: later,
})
