import {
  isAddressEqual,
  serializeTransaction,
  type Account,
  type Address,
  type Client,
  type Hex,
} from 'viem'
import {
  estimateGas,
  estimateMaxPriorityFeePerGas,
  getBalance,
  getBlock,
  getChainId,
  getCode,
  readContract,
} from 'viem/actions'

import {
  create2Call,
  DETERMINISTIC_DEPLOYER,
  DETERMINISTIC_DEPLOYER_CODE,
  DETERMINISTIC_DEPLOYER_COST,
  DETERMINISTIC_DEPLOYER_SIGNER,
} from './create2.ts'
import { isCodeOf, type Deployable } from './deployables.ts'
import { ask, DeployError, reasonOf } from './errors.ts'
import { adminOf, grantCall, hasGrant, type MinterGrant } from './minter.ts'
import type { Network } from './networks.ts'

export type DeploymentPlan = {
  chainId: number
  account: Address
  balance: bigint
  fees: Fees
  steps: PlanStep[]
  /** What the missing steps are likely to cost in wei at the fees of this moment. */
  cost: bigint
  /** What they cost at most, which the account must hold. */
  maxCost: bigint
}

export type PlanStep = StepSubject & {
  /** present: nothing to do. differs: something else is there, so nothing will be done at all. */
  state: 'absent' | 'present' | 'differs'
  address: Address
  /** Zero unless absent. */
  gas: bigint
  /** Coin that is sent along, in wei. */
  value: bigint
  /** What the chain charges in wei for the data, in addition to the gas. */
  dataFee: bigint
}

export type StepSubject =
  | { kind: 'deployer' }
  | { kind: 'contract'; contract: Deployable }
  | { kind: 'minter'; grant: MinterGrant }

export type Fees = { baseFeePerGas: bigint; maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }

export type PlanInputs = {
  client: Client
  account: Account
  network: Network
  contracts: readonly Deployable[]
  /** The admin that the token gets, who alone can grant. */
  admin: Address
  grant?: MinterGrant | undefined
}

type Call = { to: Address; data: Hex }

/** Looks at the chain and changes nothing. */
export async function planDeployment(inputs: PlanInputs): Promise<DeploymentPlan> {
  const { client, account, network } = inputs
  const chainId = await checkedChainId(inputs)
  const fees = await currentFees(client)
  const balance = await ask('what the account holds', () =>
    getBalance(client, { address: account.address }),
  )
  const steps = [await deployerStep(client)]
  const hasDeployer = steps[0]?.state === 'present'
  for (const contract of inputs.contracts) {
    const step = await contractStep(inputs, { contract, hasDeployer })
    steps.push(await withDataFee(step, { client, network, call: create2Call(contract.initCode) }))
  }
  if (inputs.grant !== undefined) {
    const hasToken = steps.some((step) => isTokenOf(step, inputs.grant) && step.state === 'present')
    const step = await minterStep(inputs, { grant: inputs.grant, hasToken })
    steps.push(await withDataFee(step, { client, network, call: grantCall(inputs.grant) }))
  }
  return { chainId, account: account.address, balance, fees, steps, ...costOf(steps, fees) }
}

/** Enough for what the chain does between the estimate and the block. The rest is not charged. */
export function gasLimitOf(gas: bigint): bigint {
  return (gas * 6n) / 5n
}

/** Whether the code at an address is what the contract must have there. */
export async function contractState(
  client: Client,
  contract: Deployable,
): Promise<PlanStep['state']> {
  const code = await codeAt(client, contract.address)
  if (code === undefined) return 'absent'
  return isCodeOf(code, contract) ? 'present' : 'differs'
}

export async function deployerState(client: Client): Promise<PlanStep['state']> {
  const code = await codeAt(client, DETERMINISTIC_DEPLOYER)
  if (code === undefined) return 'absent'
  return code.toLowerCase() === DETERMINISTIC_DEPLOYER_CODE ? 'present' : 'differs'
}

/** An address without code answers with 0x, or with nothing. */
export async function codeAt(client: Client, address: Address): Promise<Hex | undefined> {
  const code = await ask(`which code is at ${address}`, () => getCode(client, { address }))
  return code === '0x' ? undefined : code
}

async function checkedChainId({ client, network }: PlanInputs): Promise<number> {
  const chainId = await ask('which chain it is on', () => getChainId(client))
  if (network.chainId === undefined || network.chainId === chainId) return chainId
  throw new DeployError(
    `The node is on chain ${chainId}, but ${network.title} is chain ${network.chainId}. Choose the network or the RPC address that you mean.`,
    { code: 'deploy_wrong_chain', details: { chainId, expected: network.chainId } },
  )
}

async function currentFees(client: Client): Promise<Fees> {
  const [block, maxPriorityFeePerGas] = await ask('its current fees', () =>
    Promise.all([getBlock(client), estimateMaxPriorityFeePerGas(client, { chain: undefined })]),
  )
  const baseFeePerGas = block.baseFeePerGas ?? 0n
  // Twice the base fee outlasts five full blocks, and what is not needed is not charged.
  return {
    baseFeePerGas,
    maxPriorityFeePerGas,
    maxFeePerGas: baseFeePerGas * 2n + maxPriorityFeePerGas,
  }
}

async function deployerStep(client: Client): Promise<PlanStep> {
  const subject = { kind: 'deployer', address: DETERMINISTIC_DEPLOYER } as const
  const state = await deployerState(client)
  if (state !== 'absent') return { ...subject, ...NOTHING_TO_DO, state }
  const held = await ask('what the signer of the deterministic deployer holds', () =>
    getBalance(client, { address: DETERMINISTIC_DEPLOYER_SIGNER }),
  )
  const missing = DETERMINISTIC_DEPLOYER_COST - held
  return { ...subject, state, gas: TRANSFER_GAS, value: missing > 0n ? missing : 0n, dataFee: 0n }
}

async function contractStep(
  { client, account }: PlanInputs,
  { contract, hasDeployer }: { contract: Deployable; hasDeployer: boolean },
): Promise<PlanStep> {
  const subject = { kind: 'contract', contract, address: contract.address } as const
  const state = await contractState(client, contract)
  if (state !== 'absent') return { ...subject, ...NOTHING_TO_DO, state }
  // Nothing can be created through a deployer that is missing; a plain creation costs as much.
  const call = hasDeployer ? create2Call(contract.initCode) : { data: contract.initCode }
  const gas = await estimateCall(client, { what: contract.name, account, call })
  return { ...subject, state, gas, value: 0n, dataFee: 0n }
}

async function minterStep(
  { client, account, admin }: PlanInputs,
  { grant, hasToken }: { grant: MinterGrant; hasToken: boolean },
): Promise<PlanStep> {
  const subject = { kind: 'minter', grant, address: grant.token } as const
  if (hasToken && (await hasGrant(client, grant))) {
    return { ...subject, ...NOTHING_TO_DO, state: 'present' }
  }
  const granter = hasToken ? await adminOf(client, grant.token) : admin
  if (!isAddressEqual(granter, account.address))
    throw notAdmin({ account: account.address, granter })
  if (!hasToken) return { ...subject, state: 'absent', gas: GRANT_GAS, value: 0n, dataFee: 0n }
  const call = grantCall(grant)
  const gas = await estimateCall(client, { what: 'The grant to the minter', account, call })
  return { ...subject, state: 'absent', gas, value: 0n, dataFee: 0n }
}

async function estimateCall(
  client: Client,
  { what, account, call }: { what: string; account: Account; call: Partial<Call> },
): Promise<bigint> {
  try {
    // Without preparing, which would ask the node for fees and a nonce that are chosen here.
    return await estimateGas(client, {
      ...call,
      account: account.address,
      blockTag: 'latest',
      prepare: false,
    })
  } catch (error) {
    // A node that runs the call finds that it fails; one that cannot be reached finds nothing.
    if (!/revert/i.test(reasonOf(error))) return ask('what it costs', () => Promise.reject(error))
    throw new DeployError(
      `${what} would fail on this chain: ${reasonOf(error)}. Check the admin, the minter and the account.`,
      { code: 'deploy_would_revert', cause: error },
    )
  }
}

async function withDataFee(
  step: PlanStep,
  { client, network, call }: { client: Client; network: Network; call: Call },
): Promise<PlanStep> {
  if (network.stack !== 'op' || step.state !== 'absent') return step
  const unsigned = serializeTransaction({
    type: 'eip1559',
    chainId: network.chainId ?? 1,
    ...call,
  })
  const dataFee = await ask('what it charges for data', () =>
    readContract(client, {
      address: GAS_PRICE_ORACLE,
      abi: GAS_PRICE_ORACLE_ABI,
      functionName: 'getL1Fee',
      args: [unsigned],
    }),
  )
  return { ...step, dataFee }
}

function costOf(steps: readonly PlanStep[], fees: Fees): { cost: bigint; maxCost: bigint } {
  const price = fees.baseFeePerGas + fees.maxPriorityFeePerGas
  let cost = 0n
  let maxCost = 0n
  for (const { gas, value, dataFee } of steps) {
    cost += gas * price + value + dataFee
    // The fee for data follows the parent chain's, which can double while we wait.
    maxCost += gasLimitOf(gas) * fees.maxFeePerGas + value + dataFee * 2n
  }
  return { cost, maxCost }
}

function isTokenOf(step: PlanStep, grant: MinterGrant | undefined): boolean {
  return step.kind === 'contract' && step.address === grant?.token
}

const NOTHING_TO_DO = { gas: 0n, value: 0n, dataFee: 0n } as const
const TRANSFER_GAS = 21_000n

/** Measured; the node can only tell once the token is there. */
const GRANT_GAS = 130_000n

const GAS_PRICE_ORACLE: Address = '0x420000000000000000000000000000000000000F'
const GAS_PRICE_ORACLE_ABI = [
  {
    type: 'function',
    name: 'getL1Fee',
    stateMutability: 'view',
    inputs: [{ name: 'transaction', type: 'bytes' }],
    outputs: [{ name: 'fee', type: 'uint256' }],
  },
] as const

function notAdmin({ account, granter }: { account: Address; granter: Address }): DeployError {
  return new DeployError(
    `Only the admin of the token can name a minter, which is ${granter} and not ${account}. Deploy with the admin's key, or without a minter.`,
    { code: 'deploy_minter_refused', details: { account, admin: granter } },
  )
}
