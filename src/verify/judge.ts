import type { Hex } from '../chain/hex.ts'
import { createAsker } from './ask.ts'
import { aloneAsked, aloneFor, cautionsOf, NOT_FINAL } from './cautions.ts'
import type { CheckedOptions, TimeWindow } from './claim.ts'
import { coinOf, formatMoney } from './coins.ts'
import { consult, type Consultation, type Question } from './consult.ts'
import type { Sighting } from './look.ts'
import { inCoin } from './match.ts'
import { matchingPayments, matchPayment, UNKNOWN, type Expected, type Match } from './match.ts'
import { statementOf, type Profile } from './profiles.ts'
import { paymentsOf, SEIZURES, type Payment } from './read-payments.ts'
import { commonState, readTokenState, type TokenState } from './token-state.ts'
import {
  conclude,
  timeOf,
  type Complaint,
  type Disagreement,
  type Evidence,
  type Verdict,
} from './verdict.ts'

/** A claim in the form that all verifications share. */
export type Case = {
  question: Question
  /** Undefined where only the transaction itself is claimed. */
  expected: Expected | undefined
  /** Who must have signed, or paid by the settlement contract, where only a payer is claimed. */
  sender?: { payer: Hex; settlement: Hex } | undefined
  blockHash: Hex | undefined
  window: TimeWindow | undefined
  profile?: Profile
  /** Who may mint; undefined where no list was given. */
  minters?: readonly Hex[]
  caveats?: readonly string[]
}

/** A verdict, and what it rests on where a provider could show it. */
export type Judgement = { verdict: Verdict; sighting: Sighting | undefined }

export async function judge(claim: Case, options: CheckedOptions): Promise<Judgement> {
  const consultation = await consult(claim.question, options)
  const { sighting } = consultation
  const profile = claim.profile && statementOf(claim.profile)
  if (sighting === undefined) {
    const { disagreements, complaints } = consultation
    const caveats = [...(claim.caveats ?? []), ...aloneAsked(options.providers)]
    return { verdict: conclude({ disagreements, complaints, profile, caveats }), sighting }
  }
  const payments = paymentsOf(sighting)
  const match = matchOf(payments, { sighting, claim })
  const { payment } = match
  const confirmations = confirmationsOf(consultation, sighting)
  const state = await stateOf(payment, { claim, consultation, options, sighting })
  const { chainId } = claim.question
  const coin = payment && coinOf(payment, { chainId, state: state.tokenState })
  const { expected } = claim
  const open = finalityOf(consultation, { sighting, options, confirmations })
  const verdict = conclude({
    disagreements: [
      ...consultation.disagreements,
      ...placeOf(sighting, claim),
      ...(expected ? inCoin(match, { expected, coin, chainId }) : match.disagreements),
      ...(payment ? supplyOf(payment, claim) : []),
      ...open,
    ],
    evidence: {
      ...evidenceOf(sighting, claim.question.chainId),
      agreeing: consultation.agreeing,
      payment,
      amountText: payment && formatMoney(payment.amount, coin),
      confirmations,
      tokenState: state.tokenState,
    },
    complaints: [...consultation.complaints, ...state.complaints],
    profile,
    caveats: [
      ...caveatsOf({ claim, consultation, payment, tokenState: state.tokenState }),
      ...(payment && expected && !profile
        ? cautionsOf(payment, { payments, claimed: expected })
        : []),
      ...(open.length > 0 ? [NOT_FINAL] : []),
    ],
  })
  return { verdict, sighting }
}

/** The parts of the evidence that the block alone proves. */
function evidenceOf(
  sighting: Omit<Sighting, 'tries' | 'raw'>,
  chainId: bigint,
): Omit<Evidence, 'agreeing' | 'payment' | 'amountText' | 'confirmations' | 'tokenState'> {
  const { header, receipt, gasUsed, transaction } = sighting
  const { hash, type, nonce, from, to, value } = transaction
  return {
    chainId,
    provider: sighting.provider,
    block: { number: header.number, hash: header.hash, time: timeOf(header.timestamp) },
    transaction: { hash, type, nonce, from, to, value },
    receipt: { succeeded: receipt.succeeded, gasUsed, logs: receipt.logs.length },
  }
}

function matchOf(
  payments: readonly Payment[],
  { sighting, claim: { expected } }: { sighting: Sighting; claim: Case },
): Match {
  const { succeeded } = sighting.receipt
  if (succeeded === false) {
    const message = 'The transaction is in the block and was reverted: it moved nothing.'
    return { payment: undefined, disagreements: [{ kind: 'reverted', message }] }
  }
  if (succeeded === undefined) {
    const message = 'Receipts from before 2017 do not show whether a transaction succeeded.'
    return { payment: undefined, disagreements: [{ kind: 'not_provable', message }] }
  }
  if (expected === undefined) return { payment: undefined, disagreements: [] }
  return matchPayment(payments, expected)
}

/** The chain, the block and the time that were claimed. */
function placeOf({ header, transaction, receipt }: Sighting, claim: Case): Disagreement[] {
  const found: Disagreement[] = []
  const { chainId } = claim.question
  if (transaction.chainId !== undefined && transaction.chainId !== chainId) {
    found.push({
      kind: 'wrong_chain',
      message: `The transaction was signed for chain ${transaction.chainId}, not ${chainId}.`,
      expected: `${chainId}`,
      found: `${transaction.chainId}`,
    })
  }
  if (claim.blockHash !== undefined && claim.blockHash !== header.hash) {
    found.push({
      kind: 'reorged',
      message: `The record saw it in another block; it is in block ${header.number} now.`,
      expected: claim.blockHash,
      found: header.hash,
    })
  }
  const { sender } = claim
  if (sender !== undefined && !isBy(sender, { transaction, receipt })) {
    const { payer } = sender
    const message = `It was signed by ${transaction.from}, not ${payer}.`
    found.push({ kind: 'wrong_payer', message, expected: payer, found: transaction.from })
  }
  const { from, to } = claim.window ?? {}
  const timeMs = Number(header.timestamp) * 1000
  if ((from && timeMs < from.getTime()) || (to && timeMs > to.getTime())) {
    const time = timeOf(header.timestamp)
    const expected = `${from?.toISOString() ?? '…'} to ${to?.toISOString() ?? '…'}`
    const message = `It happened at ${time}, outside the time that was claimed.`
    found.push({ kind: 'outside_window', message, expected, found: time })
  }
  return found
}

/** A payment by authorization is sent by somebody else than its payer. */
function isBy(
  { payer, settlement }: { payer: Hex; settlement: Hex },
  shown: Pick<Sighting, 'transaction' | 'receipt'>,
): boolean {
  if (shown.transaction.from === payer) return true
  const claimed = { ...UNKNOWN, kinds: ['settlement' as const], settlement, payer }
  return matchingPayments(paymentsOf(shown), claimed).length > 0
}

/** What only mints and burns must keep. */
function supplyOf(payment: Payment, { profile, minters, expected }: Case): Disagreement[] {
  if (profile === undefined) return []
  if (payment.beside !== null && SEIZURES.has(payment.beside)) {
    const message = `${payment.beside} says that the funds were seized; nobody redeemed them.`
    return [{ kind: 'wiped', message, found: payment.beside }]
  }
  const needed = BESIDE[profile.name]?.[payment.kind]
  if (needed !== undefined && payment.beside !== needed) {
    const message = `No ${needed} of the same amount is directly before the Transfer.`
    return [{ kind: 'no_payment', message, expected: needed, found: payment.beside ?? 'none' }]
  }
  // A reference that was claimed has been compared.
  if (profile.name === 'memo' && payment.rail !== 'memo' && expected?.reference === undefined) {
    const message = 'No memo is next to the Transfer, so it belongs to no order.'
    return [{ kind: 'no_payment', message, expected: 'TransferWithMemo', found: 'none' }]
  }
  if (payment.kind !== 'mint' || minters === undefined || payment.minter === null) return []
  if (minters.includes(payment.minter)) return []
  const message = `It was minted by ${payment.minter}, who is not on the list of minters.`
  return [{ kind: 'wrong_minter', message, expected: minters.join(', '), found: payment.minter }]
}

/** The event that must be next to a Transfer, where the profile knows one. */
const BESIDE: Record<string, Record<string, string>> = {
  'fiat-token': { mint: 'Mint', burn: 'Burn' },
  paxos: { mint: 'SupplyIncreased', burn: 'SupplyDecreased' },
}

function confirmationsOf({ head }: Consultation, { header }: Sighting): bigint | undefined {
  return head === undefined ? undefined : head - header.number + 1n
}

function finalityOf(
  { finalized }: Consultation,
  at: { sighting: Sighting; options: CheckedOptions; confirmations: bigint | undefined },
): Disagreement[] {
  const { number } = at.sighting.header
  const needed = at.options.confirmations
  if (typeof needed === 'string') {
    if (finalized !== undefined && finalized >= number) return []
    const found = finalized === undefined ? 'no final block' : `final up to ${finalized}`
    const message = `Block ${number} is not final yet: ${found}.`
    return [{ kind: 'not_final', message, expected: `final up to ${number}`, found }]
  }
  const confirmations = at.confirmations ?? 0n
  if (confirmations >= BigInt(needed)) return []
  return [
    {
      kind: 'not_final',
      message: `It has ${confirmations} of ${needed} confirmations.`,
      expected: `${needed}`,
      found: `${confirmations}`,
    },
  ]
}

/** Read from everyone who agrees, since no proof of it is at hand. */
async function stateOf(
  payment: Payment | undefined,
  of: {
    claim: Case
    consultation: Consultation
    options: CheckedOptions
    sighting: Sighting
  },
): Promise<{ tokenState: TokenState | undefined; complaints: Complaint[] }> {
  const token = payment?.token ?? undefined
  if (payment === undefined || token === undefined) return { tokenState: undefined, complaints: [] }
  const { agreeing } = of.consultation
  const account = payment.kind === 'burn' ? payment.payer : payment.payee
  const { number } = of.sighting.header
  const states = await Promise.all(
    of.options.providers
      .filter(({ name }) => agreeing.includes(name))
      .map(async (provider) => {
        const asker = createAsker(provider, of.options.signal)
        const { profile } = of.claim
        return {
          name: provider.name,
          state: await readTokenState(asker, { token, account, number, profile }),
        }
      }),
  )
  const { state, exceptions } = commonState(states)
  const message = `About the token at block ${number} it contradicts the others.`
  const complaints = exceptions.map((provider): Complaint => {
    return { provider, kind: 'disagrees', message }
  })
  return { tokenState: state, complaints }
}

function caveatsOf(of: {
  claim: Case
  consultation: Consultation
  payment: Payment | undefined
  tokenState: TokenState | undefined
}): string[] {
  const { claim, consultation, payment, tokenState } = of
  return [
    ...(claim.caveats ?? []),
    ...consultation.unheard,
    ...aloneFor(consultation.agreeing),
    ...(claim.profile?.hasReference && claim.expected?.reference === undefined
      ? ['No reference was claimed, so the order that its memo names was not checked.']
      : []),
    ...(claim.profile?.name === 'fiat-token' && payment?.kind === 'mint' && !claim.minters
      ? ['No list of minters was given, so the minter was not checked.']
      : []),
    ...(payment?.rail === 'eip3009'
      ? ['The payer chooses the nonce of an EIP-3009 authorization, and can use it once.']
      : []),
    ...(payment?.rail === 'erc7699'
      ? ['ERC-7699 allows a token to log something derived from the reference.']
      : []),
    ...(payment?.rail === 'request'
      ? ['Request logs a hash of the reference, and anyone can pay with it more than once.']
      : []),
    ...(tokenState?.implementation
      ? [`The token is a proxy; its code was ${tokenState.implementation} at the block.`]
      : []),
    ...(tokenState?.paused === true ? ['The token was paused after the block.'] : []),
    ...(tokenState?.frozen === true ? ['The account was frozen after the block.'] : []),
  ]
}
