/** The outside parties that move money; one that is absent is simulated in the sandbox. */
export type RailsConfig = {
  /** Under which address the world reaches this program; absent: the one that it listens on. */
  publicUrl: string | undefined
  stripe: { url: string; key: string; webhookSecret: string } | undefined
  paypal: { url: string; clientId: string; clientSecret: string; webhookId: string } | undefined
  bank: { url: string; key: string; accountId: string } | undefined
  /** Where the crypto checkout wants to be paid; absent: the platform's own address. */
  checkoutPayee: `0x${string}` | undefined
}

/** Every variable of the rails, with what it is. */
export const RAIL_VARIABLES = {
  QUITTANCE_PUBLIC_URL: 'address under which the world reaches this program',
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
type Read = <T>(name: Variable, parse: (text: string) => T) => T | undefined

/** A party with a key but without the rest of what it takes is a problem, never half a party. */
export function readRails(options: {
  read: Read
  problems: string[]
  parseUrl: (text: string) => string
  parseAddress: (text: string) => `0x${string}`
}): RailsConfig {
  const { read, problems, parseUrl, parseAddress } = options
  const whole = <T extends Record<string, Variable>>(
    names: T,
  ): Record<keyof T, string> | undefined => {
    const entries = Object.entries(names).map(
      ([field, name]) => [field, read(name, asText)] as const,
    )
    if (entries.every(([, value]) => value === undefined)) return undefined
    for (const [field, value] of entries) {
      if (value === undefined) problems.push(`${names[field]} is missing beside its siblings`)
    }
    return Object.fromEntries(entries.map(([field, value]) => [field, value ?? ''])) as Record<
      keyof T,
      string
    >
  }
  return {
    publicUrl: read('QUITTANCE_PUBLIC_URL', parseUrl),
    stripe: located(
      read('QUITTANCE_STRIPE_URL', parseUrl),
      'https://api.stripe.com',
      whole({ key: 'QUITTANCE_STRIPE_KEY', webhookSecret: 'QUITTANCE_STRIPE_WEBHOOK_SECRET' }),
    ),
    paypal: located(
      read('QUITTANCE_PAYPAL_URL', parseUrl),
      'https://api-m.paypal.com',
      whole({
        clientId: 'QUITTANCE_PAYPAL_CLIENT_ID',
        clientSecret: 'QUITTANCE_PAYPAL_CLIENT_SECRET',
        webhookId: 'QUITTANCE_PAYPAL_WEBHOOK_ID',
      }),
    ),
    bank: located(
      read('QUITTANCE_BANK_URL', parseUrl),
      'https://api.increase.com',
      whole({ key: 'QUITTANCE_BANK_KEY', accountId: 'QUITTANCE_BANK_ACCOUNT' }),
    ),
    checkoutPayee: read('QUITTANCE_CHECKOUT_PAYEE', parseAddress),
  }
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
