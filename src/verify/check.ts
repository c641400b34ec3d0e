import type { Finality } from '../base/chains/config.ts'
import type { Hex } from '../chain/hex.ts'
import { decodeTransaction, type ChainTransaction } from '../chain/proof/block-transaction.ts'
import { decodeHeader, type Header } from '../chain/proof/header.ts'
import { decodeReceipt, type Receipt } from '../chain/proof/receipt.ts'
import { EncodingError } from '../chain/proof/rlp.ts'
import { readProof } from '../chain/proof/trie.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import { createAsker, failureOf, type Asker } from './ask.ts'
import { aloneFor, cautionsOf, NOT_FINAL } from './cautions.ts'
import {
  addressField,
  chainIdField,
  confirmationsField,
  DEFAULT_CONFIRMATIONS,
  hashField,
  optional,
} from './claim.ts'
import { coinOf, formatMoney, type Coin } from './coins.ts'
import { contradictionsOf, readFacts } from './facts.ts'
import { inCoin } from './match.ts'
import { matchPayment, type Expected } from './match.ts'
import { expectedPayment, type PaymentClaim } from './payment-claim.ts'
import { parseQuittance, type Quittance } from './quittance.ts'
import { paymentsOf, type Payment } from './read-payments.ts'
import { coinFrom } from './token-state.ts'
import { conclude, timeOf, type Disagreement, type Evidence, type Verdict } from './verdict.ts'

/** What makes the block of a quittance one to believe; one of the two is enough. */
export type Trust = {
  /** The hash of the block, from a source that is trusted. With it, nobody is asked. */
  trustedBlockHash?: string | undefined
  /** Nodes that are asked for that one header, and all of them must agree. */
  providers?: readonly Provider[] | undefined
  /** The chain on which it must have been paid; absent for any. */
  chainId?: bigint | number | undefined
  /** What the payment must be. What it leaves out is not checked. */
  claim?: QuittanceClaim | undefined
  /** Tokens that need no caveat, such as the stablecoin that one is paid in. */
  knownTokens?: readonly string[] | undefined
  /** Blocks until a payment is final, its own included. 12 by default. */
  confirmations?: Finality | undefined
  signal?: AbortSignal | undefined
}

/** What a record says of the payment that a quittance is to prove. */
export type QuittanceClaim = Omit<PaymentClaim, 'token' | 'log'> & {
  /** The ERC-20 that was paid; null for native coin, as an amount without a token is. */
  token?: string | null | undefined
}

/**
 * Whether a quittance proves its payment. The file may come from anyone: what it says is compared
 * with the block's hash, and only that hash has to be trusted.
 *
 * @example
 *   ```ts
 *   import { check } from 'quittance/verify'
 *
 *   const payee = '0x00000000000000000000000000000000000000AA'
 *   const trustedBlockHash = `0x${'00'.repeat(32)}`
 *   const verdict = await check('{}', { trustedBlockHash, claim: { payee, amount: 5n } })
 *   console.log(verdict.status)
 *   ```
 */
export async function check(file: string | Uint8Array, trust: Trust = {}): Promise<Verdict> {
  const trusted = optional(trust.trustedBlockHash, (hash) => hashField('trustedBlockHash', hash))
  const confirmations = confirmationsField(trust.confirmations ?? DEFAULT_CONFIRMATIONS)
  const chainId = optional(trust.chainId, chainIdField)
  const expected = expectedOf(trust.claim ?? {})
  const knownTokens = trust.knownTokens?.map((token) => addressField('knownTokens', token))
  const parsed = parseQuittance(file)
  if ('problem' in parsed) {
    return conclude({ disagreements: [{ kind: 'malformed', message: parsed.problem }] })
  }
  const { quittance } = parsed
  const facts = await proven(quittance)
  if ('problem' in facts) {
    return conclude({ disagreements: [{ kind: 'tampered', message: facts.problem }] })
  }
  if (chainId !== undefined && `${chainId}` !== quittance.chainId) {
    return conclude({ disagreements: [otherChain(quittance, chainId)] })
  }
  const { header, payment } = facts
  const anchor = await anchorOf(header, { quittance, trust: { ...trust, confirmations }, trusted })
  const on = { chainId: BigInt(quittance.chainId) }
  const coin = await coinFor(payment, { ...on, trust, anchor })
  const claim = isClaimed(trust.claim) ? differences(payment, { ...on, expected, coin }) : []
  return conclude({
    disagreements: [...claim, ...anchor.disagreements],
    evidence: evidenceOf(quittance, { ...facts, anchor, coin }),
    caveats: caveatsOf(quittance, { ...facts, expected, knownTokens, trusted, anchor }),
  })
}

/** Where the settlement contract is claims nothing of the payment. */
function isClaimed(claim: QuittanceClaim = {}): boolean {
  return Object.values({ ...claim, settlement: undefined }).some((part) => part !== undefined)
}

/** An amount of no coin in particular says nothing. */
function expectedOf(claim: QuittanceClaim): Expected {
  const { token, ...rest } = claim
  const isAny = token === undefined && rest.amount === undefined
  const expected = expectedPayment({ ...rest, token: token ?? undefined })
  return isAny ? { ...expected, token: undefined } : expected
}

function differences(
  payment: Payment,
  of: { expected: Expected; coin: Coin | undefined; chainId: bigint },
): readonly Disagreement[] {
  return inCoin(matchPayment([payment], of.expected), of)
}

/** By the word of the nodes that know the block. */
async function coinFor(
  payment: Payment,
  { trust, anchor, chainId }: { trust: Trust; anchor: Anchor; chainId: bigint },
): Promise<Coin | undefined> {
  const { token } = payment
  const providers = (trust.providers ?? []).filter(({ name }) => anchor.agreeing.includes(name))
  if (token === null || providers.length === 0) {
    return coinOf(payment, { chainId, state: undefined })
  }
  return coinFrom(token, { providers, agreement: providers.length, signal: trust.signal })
}

type Facts = {
  header: Header
  transaction: ChainTransaction
  receipt: Receipt
  payments: readonly Payment[]
  payment: Payment
}

/** What the file proves, read from its header and proofs; what it says must be the same. */
async function proven(quittance: Quittance): Promise<Facts | { problem: string }> {
  try {
    const header = decodeHeader(quittance.block.header)
    const { index } = quittance.transaction
    const { proof } = quittance.transaction
    const raw = readProof({ root: header.transactionsRoot, index, proof })
    const transaction = await decodeTransaction(raw)
    const bytes = readProof({ root: header.receiptsRoot, index, proof: quittance.receipt.proof })
    const receipt = decodeReceipt(bytes)
    const payments = paymentsOf({ transaction, receipt })
    const payment = payments.find((one) => isSame(one, quittance.payment))
    if (payment === undefined) return { problem: 'Its payment is not in its receipt.' }
    const facts = { header, transaction, receipt, payments, payment }
    const problem = problemOf(quittance, facts)
    return problem === undefined ? facts : { problem }
  } catch (error) {
    if (error instanceof EncodingError) return { problem: `A proof fails. ${error.message}` }
    throw error
  }
}

function problemOf(
  { chainId, block, transaction: said, order }: Quittance,
  { header, transaction, receipt, payment }: Facts,
): string | undefined {
  const isBlock =
    header.hash === block.hash &&
    `${header.number}` === block.number &&
    timeOf(header.timestamp) === block.time
  if (!isBlock) return 'Its block is not the one of its header.'
  const isTransaction =
    transaction.hash === said.hash &&
    transaction.from === said.from &&
    transaction.to === said.to &&
    `${transaction.value}` === said.value
  if (!isTransaction) return 'Its transaction is not the one of its proof.'
  if (transaction.chainId !== undefined && `${transaction.chainId}` !== chainId) {
    return 'Its transaction was signed for another chain.'
  }
  if (receipt.succeeded !== true) return 'Its receipt does not say that the transaction succeeded.'
  const facts = readFacts(order)
  if ('unreadable' in facts) return `The ${facts.unreadable} of its order cannot be read.`
  const { hash } = transaction
  const proven = { payment, chainId: BigInt(chainId), hash, block: header }
  return contradictionsOf(facts.order, proven)[0]?.message
}

function isSame(payment: Payment, said: Quittance['payment']): boolean {
  const { amount, ...rest } = payment
  const names = Object.keys(rest) as (keyof typeof rest)[]
  return `${amount}` === said.amount && names.every((name) => rest[name] === said[name])
}

type CheckedTrust = Trust & { confirmations: Finality }

type Anchor = {
  agreeing: string[]
  confirmations: bigint | undefined
  disagreements: Disagreement[]
}

async function anchorOf(
  header: Header,
  of: { quittance: Quittance; trust: CheckedTrust; trusted: Hex | undefined },
): Promise<Anchor> {
  const { trusted, trust } = of
  if (trusted !== undefined) {
    const agreeing = trusted === header.hash ? ['checkpoint'] : []
    const disagreements =
      agreeing.length > 0 ? [] : [wrongBlock('checkpoint', { header, found: trusted })]
    return { agreeing, confirmations: undefined, disagreements }
  }
  const providers = trust.providers ?? []
  if (providers.length === 0) {
    return { agreeing: [], confirmations: undefined, disagreements: [notAnchored(header)] }
  }
  const answers = await Promise.all(
    providers.map((provider) => ask(createAsker(provider, trust.signal), header, of)),
  )
  const heads = answers.flatMap(({ head }) => head ?? [])
  const least = heads.reduce<bigint | undefined>(
    (a, b) => (a === undefined || b < a ? b : a),
    undefined,
  )
  return {
    agreeing: answers.filter(({ disagreement }) => !disagreement).map(({ name }) => name),
    confirmations: least === undefined ? undefined : least - header.number + 1n,
    disagreements: answers.flatMap(({ disagreement }) => disagreement ?? []),
  }
}

type AnchorAnswer = { name: string; head?: bigint; disagreement?: Disagreement }

async function ask(
  asker: Asker,
  header: Header,
  { quittance, trust }: { quittance: Quittance; trust: CheckedTrust },
): Promise<AnchorAnswer> {
  const { name } = asker
  try {
    const chainId = await asker.chainId()
    if (`${chainId}` !== quittance.chainId) {
      const message = `${name} serves chain ${chainId}, and the payment is on ${quittance.chainId}.`
      return { name, disagreement: { kind: 'wrong_chain', message, provider: name } }
    }
    const block = await asker.blockAt(header.number)
    const { confirmations: needed } = trust
    const last = await asker.blockAt(typeof needed === 'string' ? needed : 'latest')
    const head = last?.header.number ?? 0n
    if (block !== undefined && block.header.hash !== header.hash) {
      return { name, disagreement: wrongBlock(name, { header, found: block.header.hash }) }
    }
    const wanted = header.number + (typeof needed === 'string' ? 0n : BigInt(needed) - 1n)
    if (block === undefined || head < wanted) {
      const message = `${name} has blocks up to ${head}, and the payment is final at ${wanted}.`
      const kind = block === undefined ? 'provider_lags' : 'not_final'
      return { name, head, disagreement: { kind, message, provider: name } }
    }
    return { name, head }
  } catch (error) {
    const { kind, message } = failureOf(error)
    return {
      name,
      disagreement: {
        kind: kind === 'lies' ? 'provider_disagrees' : kind,
        message: `${name}: ${message}`,
        provider: name,
      },
    }
  }
}

function otherChain({ chainId: found }: Quittance, expected: bigint): Disagreement {
  const message = `The payment is on chain ${found}, not ${expected}.`
  return { kind: 'wrong_chain', message, expected: `${expected}`, found }
}

function wrongBlock(
  provider: string,
  { header, found }: { header: Header; found: Hex },
): Disagreement {
  return {
    kind: 'wrong_block',
    message: `At number ${header.number}, ${provider} has another block than the quittance.`,
    expected: header.hash,
    found,
    provider,
  }
}

function notAnchored({ hash, number }: Header): Disagreement {
  const message = `It holds if ${hash} is block ${number}. Trust that hash, or ask a provider.`
  return { kind: 'not_anchored', message }
}

function evidenceOf(
  { chainId }: Quittance,
  { header, transaction, receipt, payment, anchor, coin }: Proved & { coin: Coin | undefined },
): Evidence {
  const { hash, type, nonce, from, to, value } = transaction
  return {
    chainId: BigInt(chainId),
    provider: 'the quittance',
    agreeing: anchor.agreeing,
    block: { number: header.number, hash: header.hash, time: timeOf(header.timestamp) },
    transaction: { hash, type, nonce, from, to, value },
    receipt: { succeeded: receipt.succeeded, logs: receipt.logs.length },
    payment,
    amountText: formatMoney(payment.amount, coin),
    confirmations: anchor.confirmations,
    tokenState: undefined,
  }
}

type Proved = Facts & { anchor: Anchor }

/** A token's own event counts; any other event must be of the contract that is meant. */
function isKnownContract({ kind, contract, token }: Payment, expected: Expected): boolean {
  if (kind === 'settlement') return contract === expected.settlement
  return contract === token || contract === expected.contract
}

function caveatsOf(
  { order }: Quittance,
  of: Proved & { expected: Expected; knownTokens?: Hex[] | undefined; trusted: Hex | undefined },
): string[] {
  const { transaction, payment, payments, expected, knownTokens = [], trusted, anchor } = of
  const isKnown = payment.token !== null && knownTokens.includes(payment.token)
  const claimed = isKnown ? { ...expected, token: payment.token } : expected
  return [
    ...(isKnownContract(payment, expected)
      ? []
      : [`The payment is proven only if ${payment.contract} is the contract that you mean.`]),
    ...cautionsOf(payment, { payments, claimed }),
    ...(Object.keys(order).length === 0
      ? []
      : [
          'The facts of the order come from the author of the file. The chain does not prove them.',
        ]),
    ...(transaction.chainId === undefined
      ? ['The transaction was signed without a chain id, so it is valid on every chain.']
      : []),
    ...(trusted === undefined
      ? aloneFor(anchor.agreeing)
      : ['The source of the hash says that its block is final. No node was asked.']),
    ...(anchor.disagreements.some(({ kind }) => kind === 'not_final') ? [NOT_FINAL] : []),
  ]
}
