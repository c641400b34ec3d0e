/** How a token logs the money that it makes and destroys. */
export type ProfileName = 'memo' | 'fiat-token' | 'paxos' | 'usdt' | 'erc20'

/** What can be concluded from a token's events, repeated in every verdict on it. */
export type ProfileStatement = {
  name: ProfileName
  title: string
  /** What proves a mint, and what remains open. */
  mint: string
  /** What proves a redeem, and what remains open. */
  redeem: string
}

/** What a kind of token can prove, and by which events and views. */
export type Profile = ProfileStatement & {
  /** What a redeem is on chain: a burn by the holder, or a transfer to the issuer. */
  redeemedBy: 'burn' | 'transfer-to-issuer'
  /** Whether a mint names its recipient. */
  mintNamesRecipient: boolean
  /** Whether mints and burns name their order. */
  hasReference: boolean
  /** The view that answers whether an account is frozen. */
  frozenView: string | undefined
}

/** The kinds of token that are known. A claim names one; `erc20` concludes least. */
export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  memo: {
    name: 'memo',
    title: 'a token with memos (ReferenceDollar, TIP-20, B20)',
    mint: 'Proven by the memo, the recipient and the amount in one receipt.',
    redeem: 'Proven by a burn with the memo: only the holder can make one.',
    redeemedBy: 'burn',
    mintNamesRecipient: true,
    hasReference: true,
    frozenView: 'isFrozen(address)',
  },
  'fiat-token': {
    name: 'fiat-token',
    title: 'a FiatToken (USDC, EURC)',
    mint: 'Proven by Mint and Transfer of one amount side by side; that the minter is one of the issuer is proven only against a list of minters. A mint names no order.',
    redeem:
      'A transfer by the named holder to the named address of the issuer is proven. The issuer burns in sums, and a single burn belongs to no redeem.',
    redeemedBy: 'transfer-to-issuer',
    mintNamesRecipient: true,
    hasReference: false,
    frozenView: 'isBlacklisted(address)',
  },
  paxos: {
    name: 'paxos',
    title: 'a Paxos token (USDP, PYUSD)',
    mint: 'Proven by SupplyIncreased and Transfer of one amount side by side. A mint names no order.',
    redeem:
      'Proven by SupplyDecreased and Transfer to zero; a wipe of frozen funds logs the same, and only its FrozenAddressWiped distinguishes it.',
    redeemedBy: 'burn',
    mintNamesRecipient: true,
    hasReference: false,
    frozenView: 'isFrozen(address)',
  },
  usdt: {
    name: 'usdt',
    title: 'Tether (USDT)',
    mint: 'Not provable: Issue has no recipient and no Transfer. Only totals are.',
    redeem:
      'A transfer by the named holder to the named address of the issuer is proven. The event Redeem has no holder.',
    redeemedBy: 'transfer-to-issuer',
    mintNamesRecipient: false,
    hasReference: false,
    frozenView: 'isBlackListed(address)',
  },
  erc20: {
    name: 'erc20',
    title: 'an ERC-20 without other known properties',
    mint: 'Transfer from zero: only the token says so.',
    redeem:
      'Transfer to zero: only the token says so, and it can log the same when funds are seized.',
    redeemedBy: 'burn',
    mintNamesRecipient: true,
    hasReference: false,
    frozenView: undefined,
  },
}

export function statementOf(profile: Profile): ProfileStatement {
  const { name, title, mint, redeem } = profile
  return { name, title, mint, redeem }
}
