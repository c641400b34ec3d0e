import type { Hex } from 'viem'

import type { Scene, SceneName } from './claims-chain.ts'

/** `caution`: it is there, and its own transaction gives it back, which each way must say. */
export type Told = 'true' | 'false' | 'pending' | 'caution'

/** What is claimed of one transaction; what is absent is not claimed. Amounts are in units. */
export type Claim = {
  name: string
  of: SceneName
  /** What `verify`, `prove` with `check`, the library and `reconcile` must all come to. */
  is: Told
  payee?: Hex
  payer?: Hex
  amount?: bigint
  /** Absent with an amount: native coin. */
  token?: Hex
  reference?: Hex
  /** The place of its event, for ways that can name one. */
  log?: number
  /** What a record says that its amount is in, and what `reconcile` is told of it. */
  currency?: string
  named?: string
  /** A question for `verify mint` or `verify redeem`. */
  supply?: 'mint' | 'redeem'
  /** Where a way cannot be asked, why. */
  not?: Partial<Record<Way, string>>
}

export type Way = 'library' | 'command' | 'proof' | 'reconcile'

export const WAYS: readonly Way[] = ['library', 'command', 'proof', 'reconcile']

const OTHER: Hex = `0x${'0e'.repeat(20)}`
const OTHER_REFERENCE: Hex = `0x${'77'.repeat(32)}`

const NO_PAYER = 'a record names its signer, not the payer of a transfer'
const NO_TRANSACTION = 'nothing can be proven of what is in no block'
const NO_DIRECT_FACT = 'a proof names the payment that it finds; there is none here'

/** Payments that were made, each claimed as it is and otherwise in one thing. */
const HONEST: readonly SceneName[] = [
  'direct',
  'settle',
  'settleToken',
  'settleBatch',
  'settleTokenBatch',
  'settleBatchPartial',
  'settleWithIntent',
  'settleWithPermit',
  'settleWithAuthorization',
  'transfer',
  'transferWithMemo',
  'worthless',
]

/** Every claim over the scenes, each with what it must come to. */
export function claimsOver(scenes: Readonly<Record<SceneName, Scene>>): Claim[] {
  return [
    ...HONEST.flatMap((name) => aboutHonest(name, scenes[name])),
    ...aboutSupply(scenes),
    ...aboutLies(scenes),
    ...aboutFailures(scenes),
    ...aboutAbsent(scenes),
    ...aboutReceipts(scenes),
    ...aboutCurrencies(scenes),
  ]
}

/** What one receipt shows more than once, gives back, or does not show for good yet. */
function aboutReceipts(scenes: Readonly<Record<SceneName, Scene>>): Claim[] {
  const of = (name: SceneName, log?: number) => {
    const { payee, amount, token } = scenes[name]
    return { of: name, payee, amount, ...(token && { token }), ...(log !== undefined && { log }) }
  }
  const back = of('taken back', 0)
  const { payer, dollar } = scenes.transfer.world
  const noLog = { reconcile: 'a record names no log: two of them may claim two equal transfers' }
  const equal = of('equal transfers')
  const { amount, token } = scenes['fake mint']
  const open = of('not final')
  const not = { proof: 'what is not final is not proven' }
  return [
    { name: 'a transfer that its receipt takes back', is: 'caution', ...back },
    {
      name: 'a transfer of which it takes back a part',
      is: 'caution',
      ...of('partly taken back', 0),
    },
    { name: 'the way back of it', is: 'caution', ...back, payee: payer, log: 1 },
    { name: 'a transfer that it takes back, to another', is: 'false', ...back, payee: OTHER },
    { name: 'one of two equal transfers', is: 'false', ...equal, not: noLog },
    { name: 'the first of two equal transfers', is: 'true', ...equal, log: 0 },
    { name: 'the second of two equal transfers', is: 'true', ...equal, log: 1 },
    { name: 'the third of two equal transfers', is: 'false', ...equal, log: 2, not: noLog },
    { name: 'both of two equal transfers as one', is: 'false', ...equal, log: 0, amount: 90n },
    {
      name: 'a mint without a memo',
      is: 'false',
      of: 'fake mint',
      supply: 'mint',
      payee: scenes['fake mint'].payee,
      amount,
      ...(token && { token }),
      not: {
        reconcile: 'a record does not say that its payment is a mint',
        proof: 'a proof is of a payment, and says itself that it is a mint',
      },
    },
    { name: 'a payment that is not final yet', is: 'pending', ...open, not },
    {
      name: 'one that is not final, of one unit more',
      is: 'false',
      ...open,
      amount: 92n,
      not: {
        ...not,
        reconcile: 'a record of what is not final is pending, whatever it says',
      },
    },
    {
      name: 'one that is not final, as dollars',
      is: 'false',
      ...open,
      token: dollar,
      not: {
        ...not,
        reconcile: 'a record of what is not final is pending, whatever it says',
      },
    },
  ]
}

/** Amounts in currencies, which only records have. What is not compared is not believed. */
function aboutCurrencies(scenes: Readonly<Record<SceneName, Scene>>): Claim[] {
  const { dollar } = scenes.transfer.world
  const no = 'it asks for a token by its address'
  const asked = (of: SceneName, currency: string, named?: string) => {
    const { payee, amount } = scenes[of]
    const not = { library: no, command: no, proof: no }
    return { of, payee, amount, currency, ...(named && { named }), not }
  }
  const usdc = `USDC=${dollar}`
  const worthless = scenes.worthless.token ?? ''
  return [
    { name: 'USD, with the dollar named', is: 'true', ...asked('transfer', 'USD', dollar) },
    { name: 'USD by its name', is: 'true', ...asked('transfer', 'USD', `USD=${dollar}`) },
    { name: 'USD, with no token named', is: 'false', ...asked('transfer', 'USD') },
    {
      name: 'USD of one unit more',
      is: 'false',
      ...asked('transfer', 'USD', dollar),
      amount: scenes.transfer.amount + 1n,
    },
    { name: 'USD that were paid as ether', is: 'false', ...asked('direct', 'USD', dollar) },
    { name: 'USD of a worthless token', is: 'false', ...asked('worthless', 'USD', dollar) },
    { name: 'the symbol of the dollar', is: 'true', ...asked('transfer', 'RUSD', dollar) },
    { name: 'the symbol of a worthless token', is: 'false', ...asked('worthless', 'RUSD', dollar) },
    { name: 'the symbol of a token unnamed', is: 'false', ...asked('transfer', 'RUSD') },
    { name: 'USDC, named as the token', is: 'true', ...asked('transfer', 'USDC', usdc) },
    { name: 'USDC, with only the dollar named', is: 'false', ...asked('transfer', 'USDC', dollar) },
    { name: 'USD, with only USDC named', is: 'false', ...asked('transfer', 'USD', usdc) },
    { name: 'EUR, with a token named', is: 'false', ...asked('worthless', 'EUR', worthless) },
    { name: 'a currency of nobody', is: 'false', ...asked('transfer', 'XXX', dollar) },
  ]
}

function aboutHonest(of: SceneName, scene: Scene): Claim[] {
  const { payee, amount, token, reference, payer } = scene
  const paid = { of, payee, amount, ...(token && { token }), ...(reference && { reference }) }
  const otherToken = token === undefined ? scene.otherToken : OTHER
  return [
    { name: `${of}: as it was paid`, is: 'true', ...paid },
    { name: `${of}: by its payer`, is: 'true', ...paid, payer, not: { reconcile: NO_PAYER } },
    { name: `${of}: one unit more`, is: 'false', ...paid, amount: amount + 1n },
    { name: `${of}: to another`, is: 'false', ...paid, payee: OTHER },
    { name: `${of}: in another token`, is: 'false', ...paid, token: otherToken },
    ...(reference
      ? ([
          {
            name: `${of}: under another reference`,
            is: 'false',
            ...paid,
            reference: OTHER_REFERENCE,
          },
        ] as const)
      : []),
  ]
}

function aboutSupply(scenes: Readonly<Record<SceneName, Scene>>): Claim[] {
  const of = (name: SceneName, supply: 'mint' | 'redeem') => {
    const { payee, payer, amount, token, reference } = scenes[name]
    const who = supply === 'mint' ? { payee } : { payer }
    return {
      of: name,
      supply,
      amount,
      ...who,
      ...(token && { token }),
      ...(reference && { reference }),
    }
  }
  const [mint, burn] = [of('mint', 'mint'), of('burn', 'redeem')]
  const { dollar, payer } = scenes.mint.world
  const fake = { ...of('fake mint', 'mint'), token: dollar }
  const noBurner = {
    reconcile: 'a record of a redeem has no payee, and its signer is not compared',
  }
  return [
    { name: 'a mint with its memo', is: 'true', ...mint },
    { name: 'a mint of one unit more', is: 'false', ...mint, amount: mint.amount + 1n },
    { name: 'a mint to another', is: 'false', ...mint, payee: OTHER },
    { name: 'a mint under another memo', is: 'false', ...mint, reference: OTHER_REFERENCE },
    { name: 'a redeem with its memo', is: 'true', ...burn },
    { name: 'a redeem of one unit more', is: 'false', ...burn, amount: burn.amount + 1n },
    { name: 'a redeem by another', is: 'false', ...burn, payer: OTHER, not: noBurner },
    { name: 'a redeem under another memo', is: 'false', ...burn, reference: OTHER_REFERENCE },
    { name: 'a mint of another token as one of the dollar', is: 'false', ...fake },
    {
      name: 'a redeem of the dollar that was a transfer',
      is: 'false',
      of: 'transfer',
      supply: 'redeem',
      payer,
      amount: scenes.transfer.amount,
      token: dollar,
      not: {
        reconcile: 'a record does not say that its payment is a redeem',
        proof: NO_DIRECT_FACT,
      },
    },
  ]
}

/** Events that anyone can log, of a payment of dollars that was never made. */
function aboutLies(scenes: Readonly<Record<SceneName, Scene>>): Claim[] {
  const lies = ['fake transfer', 'fake mint', 'fake settled', 'one unit beside a fake'] as const
  const { dollar, payee, settlement } = scenes.direct.world
  const asDollars = lies.map((of): Claim => {
    const { amount } = scenes[of]
    return { name: `${of}, as dollars`, of, is: 'false', payee, amount, token: dollar }
  })
  const asEther = lies.map((of): Claim => {
    const { amount } = scenes[of]
    return { name: `${of}, as ether`, of, is: 'false', payee, amount }
  })
  const { reference } = scenes['fake settled']
  const zero = { of: 'poisoning', payee: scenes.poisoning.payee } as const
  const { amount: faked } = scenes['fake settled']
  const settled = {
    of: 'fake settled',
    payee,
    amount: faked,
    ...(reference && { reference }),
  } as const
  const { amount } = scenes.worthless
  return [
    ...asDollars,
    ...asEther,
    { name: 'an order that only a fake settled', is: 'false', ...settled },
    {
      name: 'a worthless token, as dollars',
      of: 'worthless',
      is: 'false',
      payee,
      amount,
      token: dollar,
    },
    { name: 'a worthless token, as ether', of: 'worthless', is: 'false', payee, amount },
    { name: 'a transfer of nothing, as one unit', is: 'false', ...zero, amount: 1n, token: dollar },
    { name: 'a transfer of nothing, as ether', is: 'false', ...zero, amount: 1n },
    {
      name: 'the coin of a batch, as one item',
      of: 'settleBatch',
      is: 'false',
      payee,
      amount: 3_012n,
    },
    {
      name: 'ether to the contract, as ether to the payee',
      of: 'settle',
      is: 'false',
      payee: settlement,
      amount: scenes.settle.amount + 1n,
    },
  ]
}

/** What moved nothing, and what moved beside it. */
function aboutFailures(scenes: Readonly<Record<SceneName, Scene>>): Claim[] {
  const { reverted } = scenes
  const { payee } = reverted
  return [
    {
      name: 'an order that was settled before, reverted',
      of: 'reverted',
      is: 'false',
      payee,
      amount: reverted.amount,
      ...(reverted.reference && { reference: reverted.reference }),
    },
    {
      name: 'an item of a batch that failed',
      of: 'partial failure',
      is: 'false',
      ...failedItem(scenes),
    },
    {
      name: 'the item beside it that did not',
      of: 'partial failure',
      is: 'true',
      ...paidItem(scenes),
    },
  ]
}

function paidItem(scenes: Readonly<Record<SceneName, Scene>>) {
  const { payee, amount, reference } = scenes['partial failure']
  return { payee, amount, ...(reference && { reference }) }
}

function failedItem(scenes: Readonly<Record<SceneName, Scene>>) {
  const { failed, amount } = scenes['partial failure']
  if (failed === undefined) throw new Error('no item failed')
  return { ...failed, amount }
}

function aboutAbsent(scenes: Readonly<Record<SceneName, Scene>>): Claim[] {
  const not = { proof: NO_TRANSACTION }
  const { payee } = scenes.direct
  return [
    { name: 'a hash that is nowhere', of: 'ghost', is: 'false', payee, amount: 1n, not },
    {
      name: 'a transaction whose nonce was taken',
      of: 'replaced',
      is: 'false',
      payee,
      amount: 1n,
      not,
    },
    { name: 'the one that took it', of: 'taker', is: 'true', payee, amount: 2n },
    { name: 'the one that took it, as the other', of: 'taker', is: 'false', payee, amount: 1n },
  ]
}
