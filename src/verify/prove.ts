import { settlementAddress } from '../bindings/addresses.ts'
import type { Hex } from '../chain/hex.ts'
import { cautionsOf } from './cautions.ts'
import {
  addressField,
  chainIdField,
  checkOptions,
  hashField,
  invalid,
  logField,
  optional,
  referenceField,
  type CheckedOptions,
  type VerifyOptions,
} from './claim.ts'
import { formatMoney, nativeCoin, type Coin } from './coins.ts'
import { contradictionsOf, readFacts } from './facts.ts'
import { judge } from './judge.ts'
import type { Sighting } from './look.ts'
import { isReference } from './match.ts'
import { formatQuittance, MAX_QUITTANCE_BYTES, orderFacts } from './quittance.ts'
import { paymentsOf, type Payment } from './read-payments.ts'
import { coinFrom } from './token-state.ts'
import { conclude, timeOf, type Disagreement, type Verdict } from './verdict.ts'

/** Which payment of which transaction is to be proven. */
export type ProofRequest = {
  chainId: bigint | number
  hash: string
  /** Distinguishes the payments of one transaction. */
  reference?: string | undefined
  /** The place of the event in the receipt: distinguishes the payments of one transaction. */
  log?: number | undefined
  /** The settlement contract; absent for the address that it has on every chain. */
  contract?: string | undefined
  /**
   * Public facts of the order that the file contains with the proof, such as its id. The facts that
   * the chain knows (payee, payer, token, amount in the smallest unit, reference, chainId, …) must
   * match the chain.
   */
  order?: Readonly<Record<string, string>> | undefined
}

/** The text of a quittance where the payment holds; without one, the verdict says why. */
export type Proof = { verdict: Verdict; quittance: string | undefined }

/**
 * Makes the file that proves one payment to anyone, without this program's records.
 *
 * @example
 *   ```ts
 *   import { plainProvider, prove } from 'quittance/verify'
 *
 *   const providers = [plainProvider('https://one.example'), plainProvider('https://two.example')]
 *   const { quittance } = await prove({ chainId: 1, hash: `0x${'00'.repeat(32)}` }, { providers })
 *   console.log(quittance ?? 'the payment does not hold')
 *   ```
 */
export async function prove(request: ProofRequest, options: VerifyOptions): Promise<Proof> {
  const hash = hashField('hash', request.hash)
  const chainId = chainIdField(request.chainId)
  const reference = optional(request.reference, referenceField)
  const contract = addressField('contract', request.contract ?? settlementAddress)
  const log = optional(request.log, logField)
  const order = orderOf(request.order ?? {})
  const checked = checkOptions(options)
  const { verdict, sighting } = await judge(
    { question: { chainId, hash }, expected: undefined, blockHash: undefined, window: undefined },
    checked,
  )
  if (sighting === undefined || verdict.status !== 'holds') return { verdict, quittance: undefined }
  const refuse = (...disagreements: readonly Disagreement[]): Proof => {
    return { verdict: conclude({ ...verdict, disagreements }), quittance: undefined }
  }
  const { payments, chosen, disagreement } = choose(sighting, { reference, log, contract })
  if (chosen === undefined) return refuse(disagreement)
  const { header, transaction } = sighting
  const facts = { payment: chosen, chainId, hash: transaction.hash, block: header }
  const contradictions = contradictionsOf(order, facts)
  if (contradictions.length > 0) return refuse(...contradictions)
  const quittance = formatQuittance(bodyOf(sighting, { chainId, payment: chosen, order }))
  if (quittance.length > MAX_QUITTANCE_BYTES) return refuse(TOO_LARGE)
  const coin = await coinOfChosen(chosen, { chainId, verdict, options: checked })
  const amountText = formatMoney(chosen.amount, coin)
  const evidence = verdict.evidence && { ...verdict.evidence, payment: chosen, amountText }
  const claimed = { token: 'token' in order ? chosen.token : undefined, amount: undefined }
  const caveats = [...verdict.caveats, ...cautionsOf(chosen, { payments, claimed })]
  return { verdict: { ...verdict, evidence, caveats }, quittance }
}

function orderOf(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const plain = orderFacts(given)
  if (plain === undefined) throw invalid('order', 'must be short texts under plain names')
  const facts = readFacts(plain)
  if ('order' in facts) return facts.order
  throw invalid(`order.${facts.unreadable}`, `is not one: ${plain[facts.unreadable]}`)
}

/** By the word of those who agree on the block. */
function coinOfChosen(
  payment: Payment,
  of: { chainId: bigint; verdict: Verdict; options: CheckedOptions },
): Coin | undefined | Promise<Coin | undefined> {
  const { token } = payment
  const { chainId, verdict, options } = of
  const agreeing = verdict.evidence?.agreeing ?? []
  const providers = options.providers.filter(({ name }) => agreeing.includes(name))
  return token === null ? nativeCoin(chainId) : coinFrom(token, { ...options, providers })
}

const TOO_LARGE: Disagreement = {
  kind: 'not_provable',
  message: `Its transaction and its receipt do not fit into a quittance of ${MAX_QUITTANCE_BYTES} bytes.`,
}

type Choice = { reference: Hex | undefined; log: number | undefined; contract: Hex }

type Chosen = { payments: readonly Payment[] } & (
  { chosen: Payment; disagreement?: undefined } | { chosen?: undefined; disagreement: Disagreement }
)

/** The payment that shows most: settled, or with a reference, or any. It is alone in its rank. */
function choose({ transaction, receipt }: Sighting, { reference, log, contract }: Choice): Chosen {
  const payments = paymentsOf({ transaction, receipt })
  const meant = payments.filter(
    (payment) =>
      (reference === undefined || isReference(payment, reference)) &&
      (log === undefined || payment.log === log),
  )
  const ranks = [
    meant.filter((payment) => payment.kind === 'settlement' && payment.contract === contract),
    meant.filter((payment) => payment.kind !== 'settlement' && payment.reference !== null),
    meant.filter((payment) => payment.kind !== 'settlement' && payment.kind !== 'supply'),
  ]
  const best = ranks.find((rank) => rank.length > 0) ?? []
  const [chosen] = best
  if (chosen === undefined) {
    const message = 'The transaction succeeded, and shows no payment that can be proven.'
    return { payments, disagreement: { kind: 'no_payment', message } }
  }
  if (best.length === 1) return { payments, chosen }
  const found = best.map((payment) => `log ${payment.log}`).join(', ')
  const message = `It holds ${best.length} payments (${found}). Choose one by reference or log.`
  return { payments, disagreement: { kind: 'ambiguous', message, found } }
}

function bodyOf(
  { header, index, transaction, tries }: Sighting,
  { chainId, payment, order }: { chainId: bigint; payment: Payment; order: Record<string, string> },
): Parameters<typeof formatQuittance>[0] {
  const { hash, from, to, value } = transaction
  const { amount, ...rest } = payment
  const { kind, contract, token, payer, payee, reference, rail, beside, minter, log } = rest
  return {
    version: 1,
    chainId: `${chainId}`,
    block: {
      number: `${header.number}`,
      hash: header.hash,
      time: timeOf(header.timestamp),
      header: header.rlp,
    },
    transaction: {
      hash,
      index,
      from,
      to,
      value: `${value}`,
      proof: tries.transactions.prove(index),
    },
    receipt: { proof: tries.receipts.prove(index) },
    payment: {
      kind,
      contract,
      token,
      payer,
      payee,
      amount: `${amount}`,
      reference,
      rail,
      beside,
      minter,
      log,
    },
    order,
  }
}
