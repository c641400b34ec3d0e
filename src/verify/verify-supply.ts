import type { Hex } from '../chain/hex.ts'
import {
  addressField,
  amountField,
  chainIdField,
  checkOptions,
  hashField,
  invalid,
  optional,
  profileField,
  windowField,
  type BaseClaim,
  type CheckedOptions,
  type VerifyOptions,
} from './claim.ts'
import { judge, type Case } from './judge.ts'
import type { Expected } from './match.ts'
import { statementOf, type Profile, type ProfileName } from './profiles.ts'
import { search, type Range } from './search.ts'
import { conclude, type Verdict } from './verdict.ts'

type SupplyClaim = BaseClaim & {
  token: string
  /** How the token logs mints and redeems. */
  profile: ProfileName
  amount: bigint
  /** The order's memo, where the token has memos. */
  reference?: string | undefined
  /** Absent: looked for in `blocks`, or in the blocks of `window`. */
  hash?: string | undefined
  blocks?: Range | undefined
  /** Transactions that belong to other orders already, and are passed over in a search. */
  except?: readonly string[] | undefined
}

/** What a record says of new money. */
export type MintClaim = SupplyClaim & {
  payee: string
  /** Who may mint for the issuer; absent, the minter is not checked. */
  minters?: readonly string[] | undefined
}

/** What a record says of money that was given back. */
export type RedeemClaim = SupplyClaim & {
  /** Who redeemed. */
  payer: string
  /** The issuer's address, for tokens that are redeemed by a transfer to it. */
  issuer?: string | undefined
}

/**
 * Whether a token was minted to this address, in this amount.
 *
 * @example
 *   ```ts
 *   import { plainProvider, verifyMint } from 'quittance/verify'
 *
 *   const providers = [plainProvider('https://one.example'), plainProvider('https://two.example')]
 *   const token = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
 *   const payee = '0x00000000000000000000000000000000000000AA'
 *   const hash = `0x${'00'.repeat(32)}`
 *   const facts = { token, payee, amount: 5_000_000n, hash }
 *   const claim = { chainId: 1, profile: 'fiat-token' as const, ...facts }
 *   const { status, profile } = await verifyMint(claim, { providers })
 *   console.log(status, profile?.mint)
 *   ```
 */
export async function verifyMint(claim: MintClaim, options: VerifyOptions): Promise<Verdict> {
  const profile = profileField(claim.profile)
  const payee = addressField('payee', claim.payee)
  const minters = claim.minters?.map((minter) => addressField('minters', minter))
  const checked = checkOptions(options)
  if (!profile.mintNamesRecipient) return verifyIssue(claim, { profile, checked })
  const expected = { ...expectedOf(claim), kinds: ['mint' as const], payee }
  const common = { ...caseOf(claim, { profile, expected }), ...(minters ? { minters } : {}) }
  return verifySupply(claim, { common, checked })
}

/**
 * Whether this holder gave a token back: by a burn, or by a transfer to the issuer.
 *
 * @example
 *   ```ts
 *   import { plainProvider, verifyRedeem } from 'quittance/verify'
 *
 *   const providers = [plainProvider('https://one.example'), plainProvider('https://two.example')]
 *   const token = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
 *   const payer = '0x00000000000000000000000000000000000000AA'
 *   const hash = `0x${'00'.repeat(32)}`
 *   const facts = { token, payer, amount: 5_000_000n, hash }
 *   const claim = { chainId: 1, profile: 'fiat-token' as const, ...facts }
 *   const { status, profile } = await verifyRedeem(claim, { providers })
 *   console.log(status, profile?.redeem)
 *   ```
 */
export async function verifyRedeem(claim: RedeemClaim, options: VerifyOptions): Promise<Verdict> {
  const profile = profileField(claim.profile)
  const payer = addressField('payer', claim.payer)
  const issuer = optional(claim.issuer, (value) => addressField('issuer', value))
  const checked = checkOptions(options)
  const isBurn = profile.redeemedBy === 'burn'
  if (!isBurn && issuer === undefined) {
    throw invalid('issuer', `is needed: ${profile.title} is redeemed by a transfer to it`)
  }
  const base = { ...expectedOf(claim), payer }
  const expected: Expected = isBurn
    ? { ...base, kinds: ['burn'] }
    : { ...base, kinds: ['transfer'], payee: issuer }
  return verifySupply(claim, { common: caseOf(claim, { profile, expected }), checked })
}

type Common = Omit<Case, 'question'> & { expected: Expected; profile: Profile }

async function verifySupply(
  claim: SupplyClaim,
  { common, checked }: { common: Common; checked: CheckedOptions },
): Promise<Verdict> {
  const chainId = chainIdField(claim.chainId)
  if (claim.hash !== undefined) {
    const question = { chainId, hash: hashField('hash', claim.hash) }
    return (await judge({ ...common, question }, checked)).verdict
  }
  if (claim.blocks === undefined && common.window === undefined) {
    throw invalid('hash', 'is needed, or blocks or a window to search in')
  }
  const except = (claim.except ?? []).map((hash) => hashField('except', hash))
  return search({ ...common, chainId, blocks: claim.blocks, except }, checked)
}

/** Issue names no recipient, so a mint to somebody is beyond proof whatever is found. */
async function verifyIssue(
  claim: MintClaim,
  { profile, checked }: { profile: Profile; checked: CheckedOptions },
): Promise<Verdict> {
  const notProvable = { kind: 'not_provable' as const, message: profile.mint }
  if (claim.hash === undefined) {
    return conclude({ disagreements: [notProvable], profile: statementOf(profile) })
  }
  const expected: Expected = { ...expectedOf(claim), kinds: ['supply'] }
  const question = { chainId: chainIdField(claim.chainId), hash: hashField('hash', claim.hash) }
  const { verdict } = await judge({ ...caseOf(claim, { profile, expected }), question }, checked)
  return conclude({ ...verdict, disagreements: [notProvable, ...verdict.disagreements] })
}

function expectedOf(claim: SupplyClaim): Omit<Expected, 'kinds'> {
  const token = addressField('token', claim.token)
  return {
    contract: token,
    token,
    payer: undefined,
    payee: undefined,
    amount: amountField(claim.amount),
    reference: optional(claim.reference, (value): Hex => hashField('reference', value)),
  }
}

function caseOf(
  claim: SupplyClaim,
  { profile, expected }: { profile: Profile; expected: Expected },
): Common {
  return {
    expected,
    profile,
    blockHash: optional(claim.blockHash, (value) => hashField('blockHash', value)),
    window: optional(claim.window, windowField),
  }
}
