import type { Hex } from '../chain/hex.ts'
import { settlementAddress } from '../bindings/addresses.ts'
import {
  addressField,
  chainIdField,
  checkOptions,
  hashField,
  invalid,
  optional,
  referenceField,
  type VerifyOptions,
} from './claim.ts'
import { judge } from './judge.ts'
import type { Sighting } from './look.ts'
import { isReference } from './match.ts'
import { paymentsOf, type Payment } from './payments.ts'
import { formatQuittance, MAX_QUITTANCE_BYTES, orderFacts } from './quittance.ts'
import { conclude, timeOf, type Disagreement, type Verdict } from './verdict.ts'

/** Which payment of which transaction is to be proven. */
export type ProofRequest = {
  chainId: bigint | number
  hash: string
  /** Tells payments of one transaction apart. */
  reference?: string | undefined
  /** Tells payments of one transaction apart: the place of the event in the receipt. */
  log?: number | undefined
  /** The settlement contract; absent for the address that it has on every chain. */
  contract?: string | undefined
  /** Public facts of the order that stand in the file beside the proof, such as its id. */
  order?: Readonly<Record<string, string>> | undefined
}

/** The text of a quittance where the payment holds; without one, the verdict says why. */
export type Proof = { verdict: Verdict; quittance: string | undefined }

/** Makes the file that proves one payment to anyone, without this program's records. */
export async function prove(request: ProofRequest, options: VerifyOptions): Promise<Proof> {
  const hash = hashField('hash', request.hash)
  const chainId = chainIdField(request.chainId)
  const reference = optional(request.reference, referenceField)
  const contract = addressField('contract', request.contract ?? settlementAddress)
  const order = orderFacts(request.order ?? {})
  if (order === undefined) throw invalid('order', 'must be short texts under plain names')
  const { verdict, sighting } = await judge(
    { question: { chainId, hash }, expected: undefined, blockHash: undefined, window: undefined },
    checkOptions(options),
  )
  if (sighting === undefined || verdict.status !== 'holds') return { verdict, quittance: undefined }
  const { payments, disagreement } = choose(sighting, { reference, log: request.log, contract })
  const [payment] = payments
  if (disagreement !== undefined || payment === undefined) {
    const disagreements = disagreement ? [disagreement] : []
    return { verdict: conclude({ ...verdict, disagreements }), quittance: undefined }
  }
  const evidence = verdict.evidence && { ...verdict.evidence, payment }
  const quittance = formatQuittance(bodyOf(sighting, { chainId, payment, order }))
  if (quittance.length > MAX_QUITTANCE_BYTES) {
    return { verdict: conclude({ ...verdict, disagreements: [TOO_LARGE] }), quittance: undefined }
  }
  return { verdict: { ...verdict, evidence }, quittance }
}

const TOO_LARGE: Disagreement = {
  kind: 'not_provable',
  message: `Its transaction and its receipt do not fit into a quittance of ${MAX_QUITTANCE_BYTES} bytes.`,
}

type Choice = { reference: Hex | undefined; log: number | undefined; contract: Hex }

/** The most telling payment: settled, or with a reference, or any; alone of its rank. */
function choose(
  { transaction, receipt }: Sighting,
  { reference, log, contract }: Choice,
): { payments: Payment[]; disagreement?: Disagreement } {
  const meant = paymentsOf({ transaction, receipt }).filter(
    (payment) =>
      (reference === undefined || isReference(payment, reference)) &&
      (log === undefined || payment.log === log),
  )
  const ranks = [
    meant.filter((payment) => payment.kind === 'settlement' && payment.contract === contract),
    meant.filter((payment) => payment.kind !== 'settlement' && payment.reference !== null),
    meant.filter((payment) => payment.kind !== 'settlement' && payment.kind !== 'supply'),
  ]
  const payments = ranks.find((rank) => rank.length > 0) ?? []
  if (payments.length === 0) {
    const message = 'The transaction succeeded, and shows no payment that could be proven.'
    return { payments, disagreement: { kind: 'no_payment', message } }
  }
  if (payments.length === 1) return { payments }
  const found = payments.map((payment) => `log ${payment.log}`).join(', ')
  const message = `It holds ${payments.length} payments (${found}). Name one by reference or log.`
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
