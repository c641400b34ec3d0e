import { array, readWord, record, toQuantity } from '../chain/answers.ts'
import { parseHash, type Hex } from '../chain/hex.ts'
import { topicOf } from '../chain/read/events.ts'
import { createAsker, failureOf, UnsupportedError, type Asker } from './ask.ts'
import { aloneAsked } from './cautions.ts'
import { invalid, type CheckedOptions, type TimeWindow } from './claim.ts'
import { judge, type Case } from './judge.ts'
import type { Expected } from './match.ts'
import { statementOf, type Profile } from './profiles.ts'
import { conclude, type Complaint, type Disagreement, type Verdict } from './verdict.ts'

/** Numbers of blocks, both ends included. */
export type Range = { from: bigint; to: bigint }

export type Search = Omit<Case, 'question'> & {
  expected: Expected
  profile: Profile
  chainId: bigint
  blocks: Range | undefined
  except: readonly Hex[]
}

/**
 * Looks for the one mint or burn that is as claimed. Every provider is asked for its logs, and each
 * transaction that any of them names is proven by itself. Two that match are reported, not chosen
 * from.
 */
export async function search(claim: Search, options: CheckedOptions): Promise<Verdict> {
  const { blocks } = claim
  if (blocks && (blocks.from < 0n || blocks.to < blocks.from)) {
    throw invalid('blocks', 'must not end before they start')
  }
  if (blocks && blocks.to - blocks.from >= MAX_BLOCKS) {
    throw invalid('blocks', `must be at most ${MAX_BLOCKS} at a time`)
  }
  const findings = await Promise.all(
    options.providers.map((provider) => find(createAsker(provider, options.signal), claim)),
  )
  const profile = statementOf(claim.profile)
  const { hashes, flooding } = candidatesOf(findings, options)
  if (hashes.length > MAX_CANDIDATES) {
    const caveats = aloneAsked(options.providers)
    return conclude({ disagreements: [ambiguous(hashes)], complaints: flooding, profile, caveats })
  }
  const verdicts: Verdict[] = []
  for (const hash of hashes) {
    const question = { chainId: claim.chainId, hash }
    verdicts.push((await judge({ ...claim, caveats: [COMPLETENESS], question }, options)).verdict)
  }
  const matching = matchingOf(verdicts, options)
  const complaints = [
    ...findings.flatMap(({ complaint }) => complaint ?? []),
    ...flooding,
    ...withholding(findings, matching),
  ]
  const [match] = matching
  if (match !== undefined && matching.length === 1) {
    return conclude({ ...match, complaints: [...match.complaints, ...complaints] })
  }
  const base = { complaints, profile, caveats: [COMPLETENESS, ...aloneAsked(options.providers)] }
  if (match !== undefined) {
    const found = matching.flatMap(({ evidence }) => evidence?.transaction.hash ?? [])
    return conclude({ ...base, disagreements: [ambiguous(found)] })
  }
  const nearest = verdicts.find(({ evidence }) => evidence !== undefined) ?? verdicts[0]
  if (nearest !== undefined) {
    return conclude({ ...nearest, complaints: [...nearest.complaints, ...complaints] })
  }
  const open = findings.flatMap(({ disagreement }) => disagreement ?? [])
  const accused = complaints.map(({ provider, message }): Disagreement => ({
    kind: 'provider_disagrees',
    message,
    provider,
  }))
  return conclude({ ...base, disagreements: [...accused, ...open, ...unseen(findings, options)] })
}

/** A provider that names more than can be looked at, where others do not, is not followed. */
function candidatesOf(
  findings: readonly Finding[],
  options: CheckedOptions,
): { hashes: Hex[]; flooding: Complaint[] } {
  const floods = findings.filter(({ hashes = [] }) => hashes.length > MAX_CANDIDATES)
  const isCommon = floods.length >= options.needed
  const followed = isCommon ? findings : findings.filter((one) => !floods.includes(one))
  const hashes = [...new Set(followed.flatMap(({ hashes }) => hashes ?? []))]
  const flooding = (isCommon ? [] : floods).map(({ provider, hashes = [] }): Complaint => {
    const message = `Only it names ${hashes.length} transactions that match.`
    return { provider, kind: 'disagrees', message }
  })
  return { hashes, flooding }
}

/**
 * What is in a block and as claimed. A block that enough providers name outweighs one that a single
 * provider shows: else it could make any search ambiguous.
 */
function matchingOf(verdicts: readonly Verdict[], options: CheckedOptions): Verdict[] {
  const { needed } = options
  const possible = verdicts.filter(({ evidence, status }) => evidence && status !== 'disagrees')
  const agreed = possible.filter(({ evidence }) => (evidence?.agreeing.length ?? 0) >= needed)
  return agreed.length > 0 ? agreed : possible
}

const MAX_BLOCKS = 200_000n
const BLOCKS_AT_ONCE = 2_000n
const MAX_CANDIDATES = 16
const COMPLETENESS =
  'Only the providers say that nothing else matches: logs that they withhold leave no trace.'

type Finding = {
  provider: string
  /** Undefined where the provider could not say. */
  hashes?: readonly Hex[]
  /** The last block that it looked in. */
  upTo?: bigint
  /** Set where blocks of the range are still to come. */
  isOpen?: boolean
  complaint?: Complaint
  disagreement?: Disagreement
}

async function find(asker: Asker, claim: Search): Promise<Finding> {
  const provider = asker.name
  try {
    const { range, isOpen } = await rangeOf(asker, claim)
    const hashes = range === undefined ? [] : await findIn(asker, { claim, range })
    const meant = hashes.filter((hash) => !claim.except.includes(hash))
    return { provider, isOpen, hashes: meant, ...(range ? { upTo: range.to } : {}) }
  } catch (error) {
    const { kind, message } = failureOf(error)
    if (kind === 'lies') return { provider, complaint: { provider, kind, message } }
    return { provider, disagreement: { kind, message, provider } }
  }
}

async function findIn(
  asker: Asker,
  { claim, range }: { claim: Search; range: Range },
): Promise<Hex[]> {
  const { expected } = claim
  const found = new Set<Hex>()
  for (let from = range.from; from <= range.to; from += BLOCKS_AT_ONCE) {
    const last = from + BLOCKS_AT_ONCE - 1n
    const filter = {
      address: expected.token,
      topics: topicsOf(expected),
      fromBlock: toQuantity(from),
      toBlock: toQuantity(last < range.to ? last : range.to),
    }
    for (const value of array(await asker.ask('eth_getLogs', filter), 'logs')) {
      const log = record(value, 'log')
      const hash = parseHash(log['transactionHash'])
      // A reference identifies the order, so a different amount must be reported.
      const isMeant = expected.reference !== undefined || readWord(log['data']) === expected.amount
      if (hash !== undefined && isMeant) found.add(hash)
    }
  }
  return [...found]
}

/** A log with a memo is found by the memo alone, so that a wrong payee is found too. */
function topicsOf({ kinds, payer, payee, reference }: Expected): (Hex | null)[] {
  if (reference !== undefined) return [topicOf('TransferWithMemo'), null, null, reference]
  const from = kinds.includes('mint') ? ZERO_WORD : wordOf(payer)
  const to = kinds.includes('burn') ? ZERO_WORD : wordOf(payee)
  return [topicOf('Transfer'), from, to]
}

const ZERO_WORD: Hex = `0x${'0'.repeat(64)}`

function wordOf(address: Hex | undefined): Hex | null {
  return address === undefined ? null : `0x${'0'.repeat(24)}${address.slice(2)}`
}

/** The blocks to look in, as far as they are there; no range where none of them is. */
async function rangeOf(
  asker: Asker,
  { blocks, window = {} }: Search,
): Promise<{ range: Range | undefined; isOpen: boolean }> {
  const head = (await asker.blockAt('latest'))?.header
  if (head === undefined) return { range: undefined, isOpen: true }
  const last = head.number
  const wanted = blocks ?? (await blocksOf(asker, { window, last }))
  const { to: end } = window
  const isOpen = blocks
    ? blocks.to > last
    : end === undefined || Number(head.timestamp) * 1000 < end.getTime()
  const range = { from: wanted.from, to: wanted.to < last ? wanted.to : last }
  return { range: range.to < range.from ? undefined : range, isOpen }
}

async function blocksOf(
  asker: Asker,
  { window: { from, to }, last }: { window: TimeWindow; last: bigint },
): Promise<Range> {
  const start = from === undefined ? 0n : await firstBlockFrom(asker, { at: from, last })
  const end = to === undefined ? last : (await firstBlockFrom(asker, { at: after(to), last })) - 1n
  // The provider's word, so no mistake of the caller.
  if (end - start >= MAX_BLOCKS) {
    throw new UnsupportedError(`a window of ${end - start + 1n} blocks, more than ${MAX_BLOCKS}`)
  }
  return { from: start, to: end }
}

function after(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000 + 1000)
}

/** The first block at this time or later, by halves; one past the last where there is none. */
async function firstBlockFrom(
  asker: Asker,
  { at, last }: { at: Date; last: bigint },
): Promise<bigint> {
  const wanted = BigInt(Math.ceil(at.getTime() / 1000))
  let [low, high] = [0n, last + 1n]
  while (low < high) {
    const middle = (low + high) / 2n
    const block = await asker.blockAt(middle)
    if (block === undefined || block.header.timestamp >= wanted) high = middle
    else low = middle + 1n
  }
  return low
}

/** Who did not name a transaction that was then proven from a block they agree on. */
function withholding(findings: readonly Finding[], matching: readonly Verdict[]): Complaint[] {
  return matching.flatMap(({ evidence }) => {
    if (evidence === undefined) return []
    const { block, agreeing } = evidence
    const { hash } = evidence.transaction
    return findings
      .filter(({ provider, upTo }) => agreeing.includes(provider) && (upTo ?? -1n) >= block.number)
      .filter(({ hashes }) => hashes && !hashes.includes(hash))
      .map(({ provider }): Complaint => {
        const message = `It withholds the logs of ${hash}, whose block it shows.`
        return { provider, kind: 'withholds', message }
      })
  })
}

/** Nothing was found: it is missing where enough looked, and the range has ended. */
function unseen(findings: readonly Finding[], options: CheckedOptions): Disagreement[] {
  const answered = findings.filter(({ hashes }) => hashes !== undefined)
  if (answered.length < options.needed) return []
  if (answered.every(({ isOpen }) => !isOpen)) return [missing(answered)]
  const message = 'Nothing matches so far, and later blocks can still have it.'
  return [{ kind: 'not_mined', message }]
}

function missing(answered: readonly Finding[]): Disagreement {
  const names = answered.map(({ provider }) => provider).join(' and ')
  return { kind: 'missing', message: `Nothing matches at ${names}.` }
}

function ambiguous(hashes: readonly Hex[]): Disagreement {
  return {
    kind: 'ambiguous',
    message: `${hashes.length} transactions match. Name one by its hash.`,
    found: hashes.join(', '),
  }
}
