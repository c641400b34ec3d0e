import type { Hex } from '../chain/hex.ts'
import type { ChainTransaction } from '../chain/proof/block-transaction.ts'
import { attestedOf, neededOf } from '../chain/quorum.ts'
import { createAsker, failureOf, type Asker } from './ask.ts'
import type { CheckedOptions } from './claim.ts'
import { isShownIn, look, type TransactionLook, type Sighting } from './look.ts'
import { findReplacement } from './replaced.ts'
import type { Complaint, Disagreement } from './verdict.ts'

/** What all providers together say of one transaction. */
export type Consultation = {
  /** Set where one provider proved it, whether or not enough others agree on its block. */
  sighting: Sighting | undefined
  agreeing: readonly string[]
  /** The newest block that enough agreeing providers have, and the newest they call final. */
  head: bigint | undefined
  finalized: bigint | undefined
  complaints: readonly Complaint[]
  /** Why it is not settled; empty where enough agree. */
  disagreements: readonly Disagreement[]
  /** Why some were not heard, though enough others agree. */
  unheard: readonly string[]
}

export type Question = { chainId: bigint; hash: Hex; nonceOf?: { payer: Hex; nonce: bigint } }

/**
 * Asks one provider after the other until one proves the transaction and enough name the same
 * block. A provider that lies is named and the next one is asked.
 */
export async function consult(question: Question, options: CheckedOptions): Promise<Consultation> {
  const standings = await Promise.all(
    options.providers.map((provider) =>
      stand(createAsker(provider, options.signal), question, options),
    ),
  )
  const fit = standings.filter((standing) => standing.asker !== undefined)
  const complaints = standings.flatMap(({ complaint }) => complaint ?? [])
  const looks: SeenBy[] = []
  let best: Agreement | undefined
  for (const standing of fit) {
    const seen = { standing, look: await look(standing.asker, question.hash) }
    looks.push(seen)
    if (seen.look.state !== 'included') continue
    // Who lied about this transaction vouches for no block of it.
    const liars = looks.filter((one) => one.look.state === 'lies').map((one) => one.standing)
    const honest = fit.filter((one) => !liars.includes(one))
    const agreement = await agree(seen.look.sighting, { source: standing, fit: honest, options })
    if (agreement.outvoted !== undefined) complaints.push(agreement.outvoted)
    else if (best === undefined || agreement.agreeing.length > best.agreeing.length) {
      best = agreement
    }
    if (agreement.agreeing.length >= options.agreement) break
  }
  complaints.push(...(await complaintsOf(looks, { best, hash: question.hash })))
  const open = [
    ...standings.flatMap(({ disagreement }) => disagreement ?? []),
    ...looks.flatMap(openOf),
  ]
  if (best !== undefined) return settle(best, { complaints, open, options })
  return {
    sighting: undefined,
    agreeing: [],
    head: undefined,
    finalized: undefined,
    complaints,
    disagreements: await unseen(looks, { question, options, complaints, open }),
    unheard: [],
  }
}

/** Where one provider stands, asked before anything else. */
type ProviderStanding = {
  name: string
  complaint?: Complaint
  disagreement?: Disagreement
} & ({ asker: Asker; head: bigint; finalized: bigint | undefined; headTime: bigint } | Unfit)

type Fit = Extract<ProviderStanding, { asker: Asker }>
type Unfit = { asker?: undefined }
type SeenBy = { standing: Fit; look: TransactionLook }

async function stand(
  asker: Asker,
  { chainId }: Question,
  options: CheckedOptions,
): Promise<ProviderStanding> {
  const { name } = asker
  try {
    const found = await asker.chainId()
    if (found !== chainId) return { name, disagreement: wrongChain(name, { chainId, found }) }
    const head = await asker.blockAt('latest')
    const { confirmations } = options
    const finalized =
      typeof confirmations === 'string' ? await asker.blockAt(confirmations) : undefined
    if (head === undefined) return { name, disagreement: unavailable(name, 'It has no block.') }
    const { number, timestamp } = head.header
    return { name, asker, head: number, headTime: timestamp, finalized: finalized?.header.number }
  } catch (error) {
    return { name, ...troubleOf(name, failureOf(error)) }
  }
}

type Agreement = {
  sighting: Sighting
  agreeing: string[]
  head: bigint | undefined
  finalized: bigint | undefined
  complaints: Complaint[]
  disagreements: Disagreement[]
  /** Set where enough others show one other block, so that this one is the exception. */
  outvoted: Complaint | undefined
}

/** Asks every other provider which block has the number. */
async function agree(
  sighting: Sighting,
  { source, fit, options }: { source: Fit; fit: readonly Fit[]; options: CheckedOptions },
): Promise<Agreement> {
  const { header } = sighting
  const others = fit.filter((standing) => standing !== source)
  const answers = await Promise.all(
    others.map(async (standing) => ({ standing, ...(await witness(standing, sighting)) })),
  )
  const agreeing = [source, ...answers.filter(({ agrees }) => agrees).map((one) => one.standing)]
  const isCheckpoint = options.checkpoint === header.hash
  // A provider that showed the block has it, even where its head was read a moment before.
  const heads = agreeing.map(({ head }) => (head > header.number ? head : header.number))
  const finals = agreeing.flatMap(({ finalized }) => finalized ?? [])
  const needed = neededOf(agreeing.length, options.agreement)
  return {
    sighting,
    agreeing: [...agreeing.map(({ name }) => name), ...(isCheckpoint ? ['checkpoint'] : [])],
    head: attestedOf(heads, needed),
    finalized: attestedOf(finals, needed),
    complaints: answers.flatMap(({ complaint }) => complaint ?? []),
    disagreements: answers.flatMap(({ disagreement }) => disagreement ?? []),
    outvoted: isCheckpoint ? undefined : outvote(answers, { sighting, options }),
  }
}

/** One provider against one decides nothing. One against more is reported as outvoted. */
function outvote(
  answers: readonly (Witness & { standing: Fit })[],
  { sighting, options }: { sighting: Sighting; options: CheckedOptions },
): Complaint | undefined {
  const { header, provider } = sighting
  for (const hash of new Set(answers.flatMap(({ other }) => other ?? []))) {
    const against = answers.filter(({ other }) => other === hash)
    if (against.length < Math.max(2, options.agreement)) continue
    const names = against.map(({ standing }) => standing.name).join(' and ')
    const message = `At block ${header.number} it shows ${header.hash}, and ${names} show ${hash}.`
    return { provider, kind: 'disagrees', message }
  }
  return undefined
}

type Witness = {
  agrees: boolean
  /** The block that it shows instead. */
  other?: Hex
  complaint?: Complaint
  disagreement?: Disagreement
}

async function witness({ asker, name, head }: Fit, { header }: Sighting): Promise<Witness> {
  try {
    const block = await asker.blockAt(header.number)
    if (block?.header.hash === header.hash) return { agrees: true }
    if (block !== undefined) {
      const message = `At block ${header.number} it shows ${block.header.hash}.`
      const complaint = { provider: name, kind: 'disagrees' as const, message }
      return { agrees: false, other: block.header.hash, complaint }
    }
    if (head < header.number) return { agrees: false, disagreement: lags(name, head) }
    const message = `It has blocks up to ${head}, and withholds block ${header.number}.`
    return { agrees: false, complaint: { provider: name, kind: 'withholds', message } }
  } catch (error) {
    return { agrees: false, ...troubleOf(name, failureOf(error)) }
  }
}

function settle(
  best: Agreement,
  found: { complaints: Complaint[]; open: Disagreement[]; options: CheckedOptions },
): Consultation {
  const { sighting, agreeing, head, finalized } = best
  const complaints = [...best.complaints, ...found.complaints].filter(isFirstOfItsKind)
  const elsewhere = found.open.filter(({ kind }) => kind === 'wrong_chain').flatMap(asComplaint)
  const unheard = found.open.filter(({ kind }) => kind !== 'wrong_chain').map((one) => one.message)
  const base = { sighting, agreeing, head, finalized, complaints, unheard }
  const { checkpoint } = found.options
  if (checkpoint !== undefined && checkpoint !== sighting.header.hash) {
    return { ...base, disagreements: [wrongCheckpoint(checkpoint, sighting)] }
  }
  if (agreeing.length >= found.options.agreement) {
    return { ...base, complaints: [...complaints, ...elsewhere], disagreements: [] }
  }
  return {
    ...base,
    unheard: [],
    disagreements: [
      ...complaints.map((complaint) => providerDisagrees(complaint, sighting)),
      ...found.open,
      ...best.disagreements,
    ],
  }
}

/** An outvoted provider may have two complaints, one from each side of the comparison. */
function isFirstOfItsKind(complaint: Complaint, at: number, all: readonly Complaint[]): boolean {
  const { provider, kind } = complaint
  return all.findIndex((one) => one.provider === provider && one.kind === kind) === at
}

function asComplaint({ provider, message }: Disagreement): Complaint[] {
  return provider === undefined ? [] : [{ provider, kind: 'disagrees', message }]
}

/** Nobody proved the transaction; what that means depends on who could have known it. */
async function unseen(
  looks: readonly SeenBy[],
  found: {
    question: Question
    options: CheckedOptions
    complaints: readonly Complaint[]
    open: readonly Disagreement[]
  },
): Promise<Disagreement[]> {
  const { question, options, complaints, open } = found
  const moved = looks.flatMap(({ standing: { name }, look }) =>
    look.state === 'reorged' ? [reorged(name, look)] : [],
  )
  const blocking: Disagreement[] = [
    ...complaints.map((complaint) => providerDisagrees(complaint)),
    ...open,
    ...moved,
  ]
  const { hash, nonceOf } = question
  const fit = looks.map(({ standing }) => standing)
  const waiting = looks.find(({ look }) => look.state === 'mempool')
  if (waiting?.look.state === 'mempool') {
    const { from, nonce } = waiting.look.transaction
    const replaced = await findReplacement(fit, { payer: from, nonce, hash, options })
    return [...blocking, replaced ?? notMined(waiting.standing.name, waiting.look.transaction)]
  }
  const absent = looks.filter(({ look }) => look.state === 'absent')
  if (absent.length === 0) return blocking
  const replaced = nonceOf && (await findReplacement(fit, { ...nonceOf, hash, options }))
  if (replaced !== undefined) return [...blocking, replaced]
  const best = fit.reduce((highest, { head }) => (head > highest ? head : highest), 0n)
  const oldest = BigInt(Math.floor((options.now() - options.maxHeadAgeMs) / 1000))
  const [stale, fresh] = [
    absent.filter(({ standing }) => isStale(standing, { best, oldest })),
    absent.filter(({ standing }) => !isStale(standing, { best, oldest })),
  ]
  const { needed } = options
  // Where enough know of nothing, a single voice against them is a complaint and no more.
  if (fresh.length >= needed) return [...moved, missing(fresh.map((one) => one.standing.name))]
  return [...blocking, ...stale.map(({ standing }) => lags(standing.name, standing.head))]
}

function isStale(standing: Fit, { best, oldest }: { best: bigint; oldest: bigint }): boolean {
  return standing.head + STALE_BLOCKS < best || standing.headTime < oldest
}

/** Honest nodes are a block or two apart. */
const STALE_BLOCKS = 2n

/** What keeps a provider from being heard, without it being wrong. */
function openOf({ standing: { name }, look }: SeenBy): Disagreement[] {
  if (look.state === 'unavailable') return [unavailable(name, look.message)]
  return look.state === 'unsupported' ? [unsupported(name, look.message)] : []
}

async function complaintsOf(
  looks: readonly SeenBy[],
  { best, hash }: { best: Agreement | undefined; hash: Hex },
): Promise<Complaint[]> {
  const complaints: Complaint[] = []
  for (const { standing, look } of looks) {
    const { name: provider } = standing
    if (look.state === 'lies') complaints.push({ provider, kind: 'lies', message: look.message })
    if (best === undefined) continue
    if (look.state === 'reorged') {
      const message = 'It shows the transaction in a block that is not in its own chain.'
      complaints.push({ provider, kind: 'changes_its_answer', message })
    }
    const wasUnmined = look.state === 'absent' || look.state === 'mempool'
    if (!wasUnmined || !best.agreeing.includes(provider)) continue
    // It may have been asked before the block came, so only a second silence counts.
    if (await isShownIn(standing.asker, { hash, block: best.sighting.header.hash })) continue
    const message = 'It shows the block, but not the transaction that is in it.'
    complaints.push({ provider, kind: 'withholds', message })
  }
  return complaints
}

function troubleOf(
  provider: string,
  { kind, message }: ReturnType<typeof failureOf>,
): { complaint?: Complaint; disagreement?: Disagreement } {
  if (kind === 'lies') return { complaint: { provider, kind, message } }
  return {
    disagreement:
      kind === 'unsupported' ? unsupported(provider, message) : unavailable(provider, message),
  }
}

function wrongChain(
  provider: string,
  { chainId, found }: { chainId: bigint; found: bigint },
): Disagreement {
  const message = `${provider} serves chain ${found}, and the payment was claimed on ${chainId}.`
  return { kind: 'wrong_chain', message, expected: `${chainId}`, found: `${found}`, provider }
}

function wrongCheckpoint(checkpoint: Hex, { header }: Sighting): Disagreement {
  const message = 'The transaction is in another block than the one that is trusted.'
  return { kind: 'wrong_block', message, expected: checkpoint, found: header.hash }
}

function unavailable(provider: string, message: string): Disagreement {
  return { kind: 'unavailable', message, provider }
}

function unsupported(provider: string, message: string): Disagreement {
  return { kind: 'unsupported', message, provider }
}

function lags(provider: string, head: bigint): Disagreement {
  const message = `${provider} has blocks only up to ${head}, so a missing answer proves nothing.`
  return { kind: 'provider_lags', message, provider }
}

function missing(providers: readonly string[]): Disagreement {
  const names = providers.join(' and ')
  return { kind: 'missing', message: `No transaction with this hash is known to ${names}.` }
}

function notMined(provider: string, { nonce }: ChainTransaction): Disagreement {
  const message = `It waits to be mined, with the nonce ${nonce}.`
  return { kind: 'not_mined', message, provider }
}

function reorged(
  provider: string,
  { header, canonical }: Extract<TransactionLook, { state: 'reorged' }>,
): Disagreement {
  return {
    kind: 'reorged',
    message: `It was in a block ${header.number} that is no longer part of the chain.`,
    expected: header.hash,
    found: canonical ?? 'no block',
    provider,
  }
}

function providerDisagrees(complaint: Complaint, sighting?: Sighting): Disagreement {
  const { provider, message } = complaint
  const against = sighting && sighting.provider !== provider ? ` against ${sighting.provider}` : ''
  return { kind: 'provider_disagrees', message: `${provider}${against}: ${message}`, provider }
}
