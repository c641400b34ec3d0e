import type { Account, Address, Client, Hash } from 'viem'

import { systemClock } from '../base/clock.ts'
import { referenceDollar, settlement, type Deployable, type DeployableName } from './deployables.ts'
import { DeployError } from './errors.ts'
import type { Network } from './networks.ts'
import {
  gasLimitOf,
  planDeployment,
  type DeploymentPlan,
  type PlanInputs,
  type PlanStep,
} from './plan.ts'
import type { DeploymentEntry, DeploymentRecords } from './records.ts'
import {
  codeDiffers,
  createContract,
  grantMinter,
  installDeployer,
  type StepFacts,
} from './steps.ts'
import type { Waiting } from './submit.ts'
import { inCoin } from './texts.ts'

export type DeployerOptions = {
  client: Client
  /** Pays for it. It is also the admin of the ReferenceDollar unless another one is named. */
  account: Account
  network: Network
  records: DeploymentRecords
  admin?: Address | undefined
  /** Deploys this contract and leaves the other one alone; absent for both. */
  only?: DeployableName | undefined
  /** Makes this address a minter of the ReferenceDollar, which only its admin can. */
  minter?: { address: Address; allowance: bigint } | undefined
  onProgress?: ((event: DeployEvent) => void) | undefined
  waiting?: Partial<Waiting> | undefined
}

export type DeployEvent =
  { phase: 'sent'; step: PlanStep; hash: Hash } | { phase: 'done'; step: PlanStep }

export type DeploymentOutcome = {
  chainId: number
  addresses: DeploymentAddresses
  /** What was done, in order; empty when all was there already. */
  done: DeploymentEntry[]
}

export type DeploymentAddresses = Readonly<Record<DeployableName, Address>>

/**
 * Puts both contracts or one of them on a chain, at addresses that follow from their code. Planning
 * changes nothing. Executing does what is missing; when nothing is, it changes nothing either.
 */
export type Deployer = {
  /** Where both are or would be. */
  addresses: DeploymentAddresses
  /** What it deploys. */
  contracts: readonly Deployable[]
  plan(): Promise<DeploymentPlan>
  execute(): Promise<DeploymentOutcome>
}

export function createDeployer(options: DeployerOptions): Deployer {
  const { client, account, network, only, minter } = options
  const admin = options.admin ?? account.address
  const both = [settlement(), referenceDollar(admin)] as const
  const addresses = { Settlement: both[0].address, ReferenceDollar: both[1].address }
  const contracts = both.filter(({ name }) => only === undefined || name === only)
  if (minter !== undefined && only === 'Settlement') throw minterWithoutToken(minter.address)
  const grant = minter && {
    token: addresses.ReferenceDollar,
    minter: minter.address,
    allowance: minter.allowance,
  }
  const inputs: PlanInputs = { client, account, network, contracts, admin, grant }
  return {
    addresses,
    contracts,
    plan: () => planDeployment(inputs),
    execute: async () => {
      const plan = await planDeployment(inputs)
      refuse(differenceIn(plan))
      const missing = plan.steps.filter(({ state }) => state === 'absent')
      const done: DeploymentEntry[] = []
      if (missing.length > 0) {
        // A record that cannot be read stops us before money is spent.
        await options.records.read(plan.chainId)
        refuse(shortageIn(plan))
      }
      for (const step of missing) done.push(await carryOut(options, { plan, step }))
      return { chainId: plan.chainId, addresses, done }
    },
  }
}

type StepInPlan = { plan: DeploymentPlan; step: PlanStep }

async function carryOut(
  options: DeployerOptions,
  { plan, step }: StepInPlan,
): Promise<DeploymentEntry> {
  const facts = await factsOf(options, { plan, step })
  const at = waitingOf(options).clock.now().toISOString()
  const entry = { ...facts, account: plan.account, at }
  await options.records.append(plan.chainId, entry)
  options.onProgress?.({ phase: 'done', step })
  return entry
}

function factsOf(options: DeployerOptions, { plan, step }: StepInPlan): Promise<StepFacts> {
  const frame = {
    client: options.client,
    account: options.account,
    chainId: plan.chainId,
    gas: gasLimitOf(step.gas),
    fees: plan.fees,
    onSent: (hash: Hash) => options.onProgress?.({ phase: 'sent', step, hash }),
    waiting: waitingOf(options),
  }
  switch (step.kind) {
    case 'deployer':
      return installDeployer(frame, step.value)
    case 'contract':
      return createContract(frame, step.contract)
    case 'minter':
      return grantMinter(frame, step.grant)
    default:
      return step satisfies never
  }
}

function waitingOf({ waiting }: DeployerOptions): Waiting {
  return { ...PATIENT, ...waiting }
}

/** A few blocks of the slowest of our chains, even when they are full. */
const PATIENT: Waiting = {
  pollIntervalMs: 1000,
  timeoutMs: 180_000,
  clock: systemClock,
  signal: new AbortController().signal,
}

/** Why a plan cannot be carried out, as far as it shows that. */
export function problemOf(plan: DeploymentPlan): DeployError | undefined {
  return differenceIn(plan) ?? shortageIn(plan)
}

function refuse(problem: DeployError | undefined): void {
  if (problem !== undefined) throw problem
}

function differenceIn({ steps }: DeploymentPlan): DeployError | undefined {
  const wrong = steps.find(({ state }) => state === 'differs')
  if (wrong === undefined) return undefined
  if (wrong.kind === 'contract') return codeDiffers(wrong.contract)
  return new DeployError(
    `The code at ${wrong.address} is not that of the deterministic deployer. Do not deploy on this chain; nothing was sent.`,
    { code: 'deploy_deployer_differs', details: { address: wrong.address } },
  )
}

function minterWithoutToken(minter: Address): DeployError {
  return new DeployError(
    `The minter ${minter} would mint the ReferenceDollar, which is not part of a deployment of the settlement contract alone. Leave out the minter, or deploy the stablecoin too.`,
    { code: 'deploy_minter_without_token', details: { minter } },
  )
}

function shortageIn(plan: DeploymentPlan): DeployError | undefined {
  const { chainId, account, balance, maxCost } = plan
  if (balance >= maxCost) return undefined
  const has = inCoin(balance, { chainId, round: 'down' })
  const needs = inCoin(maxCost, { chainId, round: 'up' })
  const lacks = inCoin(maxCost - balance, { chainId, round: 'up' })
  return new DeployError(
    `The account ${account} has ${has} and can need ${needs}. Send ${lacks} to it and run the same command again; nothing was sent.`,
    {
      code: 'deploy_no_funds',
      details: { account, balance: balance.toString(), needed: maxCost.toString() },
    },
  )
}
