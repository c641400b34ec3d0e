import { keccak256, parseGwei, type Client, type TransactionReceipt } from 'viem'
import { getBalance, sendRawTransaction } from 'viem/actions'

import { NO_FUNDS } from '../chain/rpc/rpc-error.ts'
import {
  create2Call,
  DETERMINISTIC_DEPLOYER,
  DETERMINISTIC_DEPLOYER_CODE,
  DETERMINISTIC_DEPLOYER_COST,
  DETERMINISTIC_DEPLOYER_SIGNER,
  presignedDeployerTransaction,
} from './create2.ts'
import { isCodeOf, type Deployable } from './deployables.ts'
import { ask, DeployError, reasonOf } from './errors.ts'
import { grantCall, hasGrant, type MinterGrant } from './minter.ts'
import { codeAt, contractState, deployerState } from './plan.ts'
import type { DeploymentEntry } from './records.ts'
import {
  isLineFailure,
  KNOWN_TRANSACTION,
  receiptOf,
  submit,
  waitFor,
  type Submission,
} from './submit.ts'

/** All of a submission but what it is for. */
export type SubmissionFrame = Omit<Submission, 'call' | 'isDone'> & { gas: bigint }

/** What a step adds to the record, but for who did it and when. */
export type StepFacts = Omit<DeploymentEntry, 'account' | 'at'>

export async function createContract(
  frame: SubmissionFrame,
  contract: Deployable,
): Promise<StepFacts> {
  const { client } = frame
  const receipt = await submit({
    ...frame,
    call: { ...create2Call(contract.initCode), gas: frame.gas },
    isDone: async () => (await contractState(client, contract)) !== 'absent',
  })
  const code = await codeAt(client, contract.address)
  if (code === undefined || !isCodeOf(code, contract)) throw codeDiffers(contract)
  return {
    action: 'create',
    name: contract.name,
    address: contract.address,
    constructorArguments: contract.constructorArguments,
    codeHash: keccak256(code),
    ...receiptFacts(receipt),
  }
}

export async function grantMinter(frame: SubmissionFrame, grant: MinterGrant): Promise<StepFacts> {
  const receipt = await submit({
    ...frame,
    call: { ...grantCall(grant), gas: frame.gas },
    isDone: () => hasGrant(frame.client, grant),
  })
  return {
    action: 'grant',
    name: 'ReferenceDollar',
    address: grant.token,
    minter: grant.minter,
    allowance: grant.allowance.toString(),
    ...receiptFacts(receipt),
  }
}

/**
 * Puts the deterministic deployer on a chain that lacks it: pays its one signer, which nobody has a
 * key to, and sends the transaction that was signed once for every chain.
 */
export async function installDeployer(frame: SubmissionFrame, value: bigint): Promise<StepFacts> {
  const { client, fees } = frame
  if (fees.maxFeePerGas > MAX_BASE_FEE) throw feesTooHigh(fees.maxFeePerGas)
  // Asked before the signer is paid, so that no coin is left there when the node refuses.
  await broadcastPresigned(client, { isPaid: value === 0n })
  if (value > 0n) {
    await submit({
      ...frame,
      call: { to: DETERMINISTIC_DEPLOYER_SIGNER, value, gas: frame.gas },
      isDone: () => isSignerPaid(client),
    })
    await broadcastPresigned(client, { isPaid: true })
  }
  const receipt = await waitFor(frame.waiting, async () => {
    const state = await deployerState(client)
    return state === 'present' ? receiptOf(client, PRESIGNED_HASH) : undefined
  })
  if (receipt === undefined) throw deployerMissing()
  return {
    action: 'create',
    name: 'DeterministicDeployer',
    address: DETERMINISTIC_DEPLOYER,
    codeHash: keccak256(DETERMINISTIC_DEPLOYER_CODE),
    ...receiptFacts(receipt),
  }
}

export function codeDiffers({ name, address }: Deployable): DeployError {
  return new DeployError(
    `The code at ${address} is not that of ${name}. Do not use this address on this chain, and ask another node what is there; nothing more was sent.`,
    { code: 'deploy_code_differs', details: { name, address } },
  )
}

const PRESIGNED = presignedDeployerTransaction()
const PRESIGNED_HASH = keccak256(PRESIGNED)

/** The presigned transaction offers this much for gas, and it cannot be raised. */
const MAX_BASE_FEE = parseGwei('100')

async function broadcastPresigned(client: Client, { isPaid }: { isPaid: boolean }): Promise<void> {
  try {
    await sendRawTransaction(client, { serializedTransaction: PRESIGNED })
  } catch (error) {
    const reason = reasonOf(error)
    const expected = isPaid ? KNOWN_TRANSACTION : NO_FUNDS
    if (isLineFailure(error) || expected.test(reason)) return
    throw new DeployError(
      `The chain lacks the deterministic deployer, and its node refuses the one transaction that creates it: ${reason}. Ask the chain's operator for a node that takes transactions without a chain id; nothing was sent.`,
      { code: 'deploy_deployer_refused', cause: error },
    )
  }
}

async function isSignerPaid(client: Client): Promise<boolean> {
  if ((await deployerState(client)) === 'present') return true
  const held = await ask('what the signer of the deterministic deployer holds', () =>
    getBalance(client, { address: DETERMINISTIC_DEPLOYER_SIGNER }),
  )
  return held >= DETERMINISTIC_DEPLOYER_COST
}

/** Nothing is claimed about a transaction that was somebody else's. */
function receiptFacts(receipt: TransactionReceipt | undefined): Partial<StepFacts> {
  if (receipt === undefined) return {}
  return {
    transactionHash: receipt.transactionHash,
    blockNumber: receipt.blockNumber.toString(),
    blockHash: receipt.blockHash,
    gasUsed: receipt.gasUsed.toString(),
    cost: (receipt.gasUsed * receipt.effectiveGasPrice).toString(),
  }
}

function feesTooHigh(maxFeePerGas: bigint): DeployError {
  return new DeployError(
    `The chain lacks the deterministic deployer, and gas may cost ${maxFeePerGas} wei, more than the ${MAX_BASE_FEE} that its one transaction offers. Wait until fees are lower; nothing was sent.`,
    {
      code: 'deploy_deployer_refused',
      retryable: true,
      details: { maxFeePerGas: maxFeePerGas.toString() },
    },
  )
}

function deployerMissing(): DeployError {
  return new DeployError(
    `The transaction ${PRESIGNED_HASH} that creates the deterministic deployer was not seen on the chain in time. It is paid for and may still be mined; run the same command again.`,
    { code: 'deploy_timed_out', retryable: true, details: { hash: PRESIGNED_HASH } },
  )
}
