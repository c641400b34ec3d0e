import { formatGwei } from 'viem/utils'

import type { DeployEvent } from './deploy.ts'
import type { Network } from './networks.ts'
import type { DeploymentPlan, PlanStep } from './plan.ts'
import { inCoin } from './texts.ts'

/** What a person reads before agreeing. */
export function planLines(plan: DeploymentPlan, network: Network): string[] {
  const { chainId, account, balance, cost, maxCost, fees, steps } = plan
  const rows = steps.map((step) => `  ${nameOf(step).padEnd(24)}${step.address}  ${stateOf(step)}`)
  const missing = steps.some(({ state }) => state === 'absent')
  const gas = steps.reduce((sum, step) => sum + step.gas, 0n)
  const price = Number(formatGwei(fees.baseFeePerGas + fees.maxPriorityFeePerGas))
  const gwei = price.toLocaleString('en', { maximumSignificantDigits: 4 })
  const [about, most] = [cost, maxCost].map((wei) => inCoin(wei, { chainId, round: 'up' }))
  return [
    `${network.title} (chain ${chainId})`,
    `From ${account}, which has ${inCoin(balance, { chainId, round: 'down' })}`,
    ...rows,
    ...(missing
      ? [
          `It costs about ${about} and at most ${most}.`,
          `That is ${gas.toLocaleString('en')} gas, at ${gwei} gwei now.`,
        ]
      : ['Nothing is missing.']),
  ]
}

export function eventLine(event: DeployEvent): string {
  const name = nameOf(event.step)
  switch (event.phase) {
    case 'sent':
      return `${name}: sent in\n  ${event.hash}`
    case 'done':
      return `${name}: done, at ${event.step.address}`
    default:
      return event satisfies never
  }
}

/** The plan as JSON can carry it: amounts as decimal strings. */
export function planJson(plan: DeploymentPlan): Record<string, unknown> {
  const { chainId, account, balance, fees, cost, maxCost, steps } = plan
  return {
    chainId,
    account,
    balance: balance.toString(),
    baseFeePerGas: fees.baseFeePerGas.toString(),
    maxPriorityFeePerGas: fees.maxPriorityFeePerGas.toString(),
    cost: cost.toString(),
    maxCost: maxCost.toString(),
    steps: steps.map((step) => ({
      kind: step.kind,
      name: nameOf(step),
      address: step.address,
      state: step.state,
      gas: step.gas.toString(),
      value: step.value.toString(),
      dataFee: step.dataFee.toString(),
    })),
  }
}

function nameOf(step: PlanStep): string {
  switch (step.kind) {
    case 'deployer':
      return 'deterministic deployer'
    case 'contract':
      return step.contract.name
    case 'minter':
      return 'minter'
    default:
      return step satisfies never
  }
}

function stateOf({ state }: PlanStep): string {
  switch (state) {
    case 'present':
      return 'is there'
    case 'absent':
      return 'missing'
    case 'differs':
      return 'OTHER CODE'
    default:
      return state satisfies never
  }
}
