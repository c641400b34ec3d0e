import { parseChoices, suffixOf, type Choice } from './choices.ts'

export type StripeConfig = { url: string; key: string; webhookSecret: string }
export type PaypalConfig = {
  url: string
  clientId: string
  clientSecret: string
  webhookId: string
}
export type BankConfig = { url: string; key: string; accountId: string }

export const GATEWAY_KINDS = ['card', 'crypto_checkout', 'wallet_checkout'] as const
export const INSTITUTION_KINDS = ['ach', 'wire'] as const
export type GatewayChoice = Choice<(typeof GATEWAY_KINDS)[number]>
export type InstitutionChoice = Choice<(typeof INSTITUTION_KINDS)[number]>

/** The outside parties that move money; one that is absent is simulated in the sandbox. */
export type RailsConfig = {
  /** Under which address the world reaches this program; absent: the one that it listens on. */
  publicUrl: string | undefined
  gateways: readonly GatewayChoice[]
  institutions: readonly InstitutionChoice[]
  stripe: StripeConfig | undefined
  paypal: PaypalConfig | undefined
  bank: BankConfig | undefined
  /** Beside those, by the names that gateways and institutions choose them by. */
  named: {
    stripe: ReadonlyMap<string, StripeConfig>
    paypal: ReadonlyMap<string, PaypalConfig>
    bank: ReadonlyMap<string, BankConfig>
  }
  /** Where the crypto checkout wants to be paid; absent: the platform's own address. */
  checkoutPayee: `0x${string}` | undefined
}

export const USUAL_GATEWAYS: readonly GatewayChoice[] = [
  { id: 1, kind: 'card', party: undefined },
  { id: 2, kind: 'crypto_checkout', party: undefined },
  { id: 3, kind: 'wallet_checkout', party: undefined },
]

export const USUAL_INSTITUTIONS: readonly InstitutionChoice[] = [
  { id: 1, kind: 'ach', party: undefined },
  { id: 2, kind: 'wire', party: undefined },
]

/** Every variable of the rails, with what it is. */
export const RAIL_VARIABLES = {
  QUITTANCE_PUBLIC_URL: 'address under which the world reaches this program',
  QUITTANCE_GATEWAYS: 'which gateway has which id',
  QUITTANCE_INSTITUTIONS: 'which institution has which id',
  QUITTANCE_STRIPE_URL: 'address of the card gateway',
  QUITTANCE_STRIPE_KEY: 'key of the card gateway',
  QUITTANCE_STRIPE_WEBHOOK_SECRET: 'secret that its webhooks are signed with',
  QUITTANCE_PAYPAL_URL: 'address of the wallet checkout',
  QUITTANCE_PAYPAL_CLIENT_ID: 'client id at the wallet checkout',
  QUITTANCE_PAYPAL_CLIENT_SECRET: 'secret at the wallet checkout',
  QUITTANCE_PAYPAL_WEBHOOK_ID: 'id of its webhook',
  QUITTANCE_BANK_URL: 'address of the bank',
  QUITTANCE_BANK_KEY: 'key of the bank',
  QUITTANCE_BANK_ACCOUNT: 'our account at the bank',
  QUITTANCE_CHECKOUT_PAYEE: 'address that the crypto checkout is paid to',
} as const

export const SECRET_RAIL_VARIABLES = [
  'QUITTANCE_STRIPE_KEY',
  'QUITTANCE_STRIPE_WEBHOOK_SECRET',
  'QUITTANCE_PAYPAL_CLIENT_SECRET',
  'QUITTANCE_BANK_KEY',
] as const

type Variable = keyof typeof RAIL_VARIABLES
type Suffix = ReturnType<typeof suffixOf>
type Read = <T>(name: `${Variable}${Suffix}`, parse: (text: string) => T) => T | undefined

type Reading = {
  read: Read
  problems: string[]
  parseUrl: (text: string) => string
  parseAddress: (text: string) => `0x${string}`
}

export function readRails(reading: Reading): RailsConfig {
  const { read, problems, parseUrl, parseAddress } = reading
  const ofGateways = { kinds: GATEWAY_KINDS, lone: ['crypto_checkout'] } as const
  const gateways = read('QUITTANCE_GATEWAYS', parseChoices(ofGateways)) ?? USUAL_GATEWAYS
  const ofInstitutions = parseChoices({ kinds: INSTITUTION_KINDS, lone: [] })
  const institutions = read('QUITTANCE_INSTITUTIONS', ofInstitutions) ?? USUAL_INSTITUTIONS
  const named = <T>(
    choices: ReadonlyArray<Choice<string>>,
    readParty: (reading: Reading, suffix: Suffix) => T | undefined,
  ): Map<string, T> => {
    const names = new Set(choices.flatMap(({ party }) => party ?? []))
    return new Map(
      [...names].flatMap((name) => {
        const party = readParty(reading, suffixOf(name))
        if (party === undefined)
          problems.push(`the variables that end in ${suffixOf(name)} are missing`)
        return party === undefined ? [] : [[name, party]]
      }),
    )
  }
  const ofKind = (kind: string) => gateways.filter((one) => one.kind === kind)
  return {
    publicUrl: read('QUITTANCE_PUBLIC_URL', parseUrl),
    gateways,
    institutions,
    stripe: readStripe(reading, ''),
    paypal: readPaypal(reading, ''),
    bank: readBank(reading, ''),
    named: {
      stripe: named(ofKind('card'), readStripe),
      paypal: named(ofKind('wallet_checkout'), readPaypal),
      bank: named(institutions, readBank),
    },
    checkoutPayee: read('QUITTANCE_CHECKOUT_PAYEE', parseAddress),
  }
}

function readStripe(reading: Reading, suffix: Suffix): StripeConfig | undefined {
  return located(
    reading.read(`QUITTANCE_STRIPE_URL${suffix}`, reading.parseUrl),
    'https://api.stripe.com',
    whole(reading, suffix, {
      key: 'QUITTANCE_STRIPE_KEY',
      webhookSecret: 'QUITTANCE_STRIPE_WEBHOOK_SECRET',
    }),
  )
}

function readPaypal(reading: Reading, suffix: Suffix): PaypalConfig | undefined {
  return located(
    reading.read(`QUITTANCE_PAYPAL_URL${suffix}`, reading.parseUrl),
    'https://api-m.paypal.com',
    whole(reading, suffix, {
      clientId: 'QUITTANCE_PAYPAL_CLIENT_ID',
      clientSecret: 'QUITTANCE_PAYPAL_CLIENT_SECRET',
      webhookId: 'QUITTANCE_PAYPAL_WEBHOOK_ID',
    }),
  )
}

function readBank(reading: Reading, suffix: Suffix): BankConfig | undefined {
  return located(
    reading.read(`QUITTANCE_BANK_URL${suffix}`, reading.parseUrl),
    'https://api.increase.com',
    whole(reading, suffix, { key: 'QUITTANCE_BANK_KEY', accountId: 'QUITTANCE_BANK_ACCOUNT' }),
  )
}

/** A party with a key but without the rest of what it takes is a problem, never half a party. */
function whole<T extends Record<string, Variable>>(
  { read, problems }: Reading,
  suffix: Suffix,
  names: T,
): Record<keyof T, string> | undefined {
  const entries = Object.entries(names).map(
    ([field, name]) => [field, read(`${name}${suffix}`, asText)] as const,
  )
  if (entries.every(([, value]) => value === undefined)) return undefined
  for (const [field, value] of entries) {
    if (value === undefined)
      problems.push(`${names[field]}${suffix} is missing beside its siblings`)
  }
  return Object.fromEntries(entries.map(([field, value]) => [field, value ?? ''])) as Record<
    keyof T,
    string
  >
}

function asText(text: string): string {
  return text
}

function located<T extends object>(
  url: string | undefined,
  usual: string,
  party: T | undefined,
): (T & { url: string }) | undefined {
  return party && { ...party, url: url ?? usual }
}
