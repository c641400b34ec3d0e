import {
  HttpRequestError,
  InternalRpcError,
  keccak256,
  LimitExceededRpcError,
  SocketClosedError,
  TimeoutError,
  TransactionReceiptNotFoundError,
  WebSocketRequestError,
  type Account,
  type Address,
  type Client,
  type Hash,
  type Hex,
  type TransactionReceipt,
} from 'viem'
import {
  getTransactionCount,
  getTransactionReceipt,
  sendRawTransaction,
  sendTransaction,
} from 'viem/actions'

import type { Clock } from '../base/clock.ts'
import { NO_FUNDS } from '../chain/rpc/rpc-error.ts'
import { ask, causesOf, DeployError, reasonOf } from './errors.ts'

export type Submission = {
  client: Client
  account: Account
  chainId: number
  call: { to: Address; data?: Hex; value?: bigint; gas: bigint }
  fees: { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }
  /** Whether the chain shows the effect of the call, whichever transaction caused it. */
  isDone: () => Promise<boolean>
  onSent: (hash: Hash) => void
  waiting: Waiting
}

export type Waiting = {
  pollIntervalMs: number
  timeoutMs: number
  clock: Clock
  /** Ends the wait, and not the transaction that is waited for. */
  signal: AbortSignal
}

/**
 * Sends one transaction and waits until its effect is on the chain. Returns its receipt, or
 * undefined when the effect came from somebody else's transaction.
 *
 * The node is not trusted to answer: an error while sending decides nothing, since the transaction
 * may have arrived. Only the chain decides, by the receipt, the nonce and the effect itself.
 */
export async function submit(submission: Submission): Promise<TransactionReceipt | undefined> {
  const nonce = await freeNonce(submission)
  const broadcast = await prepare(submission, nonce)
  const hash = await broadcast()
  if (hash !== undefined) submission.onSent(hash)
  return waitForEffect(submission, { nonce, hash, broadcast })
}

/** Polls until there is a value or the time is over. A failed connection is not an answer. */
export async function waitFor<Value>(
  waiting: Waiting,
  poll: () => Promise<Value | undefined>,
): Promise<Value | undefined> {
  const deadline = timeOf(waiting) + waiting.timeoutMs
  while (timeOf(waiting) < deadline) {
    try {
      const value = await poll()
      if (value !== undefined) return value
    } catch (error) {
      if (!isLineFailure(error)) throw error
    }
    await pause(waiting)
  }
  return undefined
}

function timeOf({ clock }: Waiting): number {
  return clock.now().getTime()
}

async function pause({ clock, pollIntervalMs, signal }: Waiting): Promise<void> {
  await clock.sleep(pollIntervalMs, signal)
  if (!signal.aborted) return
  throw new DeployError(
    'The deployment was interrupted while it waited for a transaction, which may still be mined. Run the same command again; it finds what is there.',
    { code: 'deploy_interrupted', retryable: true },
  )
}

/** Repeatable: sending the same signed transaction twice is the same as once. */
type Broadcast = () => Promise<Hash | undefined>
type Sent = { nonce: number; hash: Hash | undefined; broadcast: Broadcast }

/** A second transaction behind a stuck one would only be stuck as well. */
async function freeNonce({ client, account }: Submission): Promise<number> {
  const { address } = account
  const [mined, pending] = await ask('how many transactions the account sent', () =>
    Promise.all([
      getTransactionCount(client, { address, blockTag: 'latest' }),
      getTransactionCount(client, { address, blockTag: 'pending' }),
    ]),
  )
  if (pending <= mined) return mined
  const waiting = pending - mined
  const count = waiting === 1 ? 'A transaction' : `${waiting} transactions`
  throw new DeployError(
    `${count} of ${address} ${waiting === 1 ? 'is' : 'are'} not mined yet. Wait for that, or deploy from another account: the addresses do not depend on it.`,
    { code: 'deploy_account_busy', retryable: true, details: { address, mined, pending } },
  )
}

async function prepare(submission: Submission, nonce: number): Promise<Broadcast> {
  const { client, account, call, fees, chainId } = submission
  const { signTransaction } = account
  if (signTransaction === undefined) {
    let sent: Hash | undefined
    // The node holds the key. Asked again, it signs for the same nonce, so only one can be mined.
    return async () => {
      sent ??= await tolerant(() =>
        sendTransaction(client, { account, chain: null, nonce, ...call, ...fees }),
      )
      return sent
    }
  }
  const raw = await signTransaction({ type: 'eip1559', chainId, nonce, ...call, ...fees })
  return async () => {
    await tolerant(() => sendRawTransaction(client, { serializedTransaction: raw }))
    return keccak256(raw)
  }
}

/** Lets pass what leaves open whether the transaction arrived, and throws what the node refused. */
async function tolerant(send: () => Promise<Hash>): Promise<Hash | undefined> {
  try {
    return await send()
  } catch (error) {
    if (isLineFailure(error)) return undefined
    const reason = reasonOf(error)
    if (KNOWN_TRANSACTION.test(reason)) {
      return undefined
    }
    if (NO_FUNDS.test(reason)) throw noFunds(error)
    throw new DeployError(
      `The node refused the transaction: ${reason}. Remove the cause and run the same command again.`,
      { code: 'deploy_rejected', cause: error },
    )
  }
}

/** How nodes say that they have the transaction, or have mined it already. */
export const KNOWN_TRANSACTION = /already (known|imported|in)|known transaction|nonce too low/i

/** True when the line failed rather than the transaction, which may have arrived all the same. */
export function isLineFailure(error: unknown): boolean {
  return causesOf(error).some((cause) => LINE_ERRORS.some((kind) => cause instanceof kind))
}

const LINE_ERRORS = [
  HttpRequestError,
  InternalRpcError,
  LimitExceededRpcError,
  SocketClosedError,
  TimeoutError,
  WebSocketRequestError,
]

async function waitForEffect(
  submission: Submission,
  sent: Sent,
): Promise<TransactionReceipt | undefined> {
  const { waiting, isDone } = submission
  const deadline = timeOf(waiting) + waiting.timeoutMs
  let lastError: unknown
  let timesDone = 0
  let timesGone = 0
  let { hash } = sent
  for (let poll = 0; timeOf(waiting) < deadline; poll++) {
    if (poll > 0) await pause(waiting)
    try {
      const done = await isDone()
      const { receipt, nonceTaken } = await look(submission, { ...sent, hash })
      if (done && receipt !== undefined) return receipt.status === 'success' ? receipt : undefined
      if (receipt?.status === 'reverted') throw reverted(receipt)
      timesDone = done ? timesDone + 1 : 0
      if (timesDone >= LOOKS_WITHOUT_RECEIPT) return undefined
      timesGone = nonceTaken && receipt === undefined ? timesGone + 1 : 0
      if (timesGone >= LOOKS_WITHOUT_RECEIPT) throw replaced({ nonce: sent.nonce, hash })
      if (!nonceTaken && poll % POLLS_PER_BROADCAST === POLLS_PER_BROADCAST - 1) {
        hash = await sent.broadcast()
      }
    } catch (error) {
      if (error instanceof DeployError && FINAL.has(error.code)) throw error
      lastError = error
    }
  }
  throw timedOut({ hash, timeoutMs: waiting.timeoutMs, cause: lastError })
}

/** The answer to a repeated transaction does not decide the first one. Only these codes do. */
const FINAL: ReadonlySet<string> = new Set(['deploy_reverted', 'deploy_replaced'])

/** Nodes behind one address lag behind each other, so one look without a receipt says nothing. */
const LOOKS_WITHOUT_RECEIPT = 5
const POLLS_PER_BROADCAST = 10

async function look(
  { client, account }: Submission,
  { hash, nonce }: Sent,
): Promise<{ receipt: TransactionReceipt | undefined; nonceTaken: boolean }> {
  const receipt = hash === undefined ? undefined : await receiptOf(client, hash)
  if (receipt !== undefined) return { receipt, nonceTaken: true }
  const mined = await ask('how many transactions the account sent', () =>
    getTransactionCount(client, { address: account.address, blockTag: 'latest' }),
  )
  return { receipt, nonceTaken: mined > nonce }
}

/** Undefined when the node has none, which may also mean that it lags. */
export async function receiptOf(
  client: Client,
  hash: Hash,
): Promise<TransactionReceipt | undefined> {
  try {
    return await getTransactionReceipt(client, { hash })
  } catch (error) {
    if (error instanceof TransactionReceiptNotFoundError) return undefined
    throw error
  }
}

function noFunds(cause: unknown): DeployError {
  return new DeployError(
    'The account cannot pay for the transaction. Send it some of the chain’s coin and run the same command again.',
    { code: 'deploy_no_funds', cause },
  )
}

function reverted({ transactionHash }: TransactionReceipt): DeployError {
  return new DeployError(
    `The transaction ${transactionHash} was mined and failed. Read its trace before you try again.`,
    { code: 'deploy_reverted', details: { transactionHash } },
  )
}

function replaced({ nonce, hash }: { nonce: number; hash: Hash | undefined }): DeployError {
  return new DeployError(
    `Another transaction of the account took nonce ${nonce}, and ${hash ?? 'ours'} was not mined. Run the same command again; use an account that nothing else sends from.`,
    { code: 'deploy_replaced', retryable: true, details: { nonce, hash } },
  )
}

function timedOut(what: {
  hash: Hash | undefined
  timeoutMs: number
  cause: unknown
}): DeployError {
  const { hash, timeoutMs, cause } = what
  const reason = cause === undefined ? '' : ` (the last answer of the node: ${reasonOf(cause)})`
  return new DeployError(
    `The transaction ${hash ?? '(hash unknown)'} was not seen on the chain within ${timeoutMs / 1000} s${reason}. It may still be mined; run the same command again, which finds what is there.`,
    { code: 'deploy_timed_out', retryable: true, cause, details: { hash, timeoutMs } },
  )
}
