/**
 * The outside parties that move money, and what each needs: its settings, what it takes, and how
 * the payer goes on. A new gateway is one entry here and one in `src/rails/gateways.ts`, with its
 * adapter and its simulator; configuration, limits, answers and documents follow.
 */
export type PartyDefinition = {
  /** In the words of a person. */
  name: string
  /** Its variables begin so. */
  variables: string
  /** Where it is, unless its variable `…_URL` says otherwise. */
  url: string
  settings: Readonly<Record<string, Setting>>
  /** Where the sandbox simulates it; a known port is handy. */
  simulator: { name: string; port: number }
}

type Setting = {
  /** What the variable ends in. */
  variable: string
  what: string
  /** What the simulated party takes, or begins with where it is a secret. */
  simulated: string
  isSecret?: true
}

/** In the smallest unit of each currency: the least and the most. */
export type Amounts = Readonly<Record<string, readonly [min: bigint, max: bigint]>>

type GatewayDefinition = {
  /** Under which id requests choose it, where the configuration does not say. */
  id: number
  amounts: Amounts
  /** Absent: it is ours, and nobody outside is asked. */
  party?: PartyDefinition
  /** What the answer to a new payment tells for the payer, and of what in the charge it is made. */
  payer: Payer
}

export type Payer = Readonly<Record<string, PayerField>>

export type PayerField = {
  of: 'externalId' | 'clientSecret' | 'url' | 'checkoutUrl'
  description: string
  example: string
  format?: 'uri'
}

const DOLLARS = 100n
const ETHER = 10n ** 18n

const gateways = {
  card: {
    id: 1,
    // The least and the most that the card networks' acquirers take in one charge.
    amounts: { USD: [50n, 999_999_99n], EUR: [50n, 999_999_99n], GBP: [30n, 999_999_99n] },
    party: {
      name: 'card gateway',
      variables: 'QUITTANCE_STRIPE',
      url: 'https://api.stripe.com',
      settings: {
        key: { variable: 'KEY', what: 'key', simulated: 'sk_test_', isSecret: true },
        webhookSecret: {
          variable: 'WEBHOOK_SECRET',
          what: 'secret of the webhooks',
          simulated: '',
          isSecret: true,
        },
      },
      simulator: { name: 'card', port: 9101 },
    },
    payer: {
      payment_intent_id: {
        of: 'externalId',
        description: 'Card.',
        example: 'pi_3MtwBwLkdIwHu7ix28a3tqPa',
      },
      client_secret: {
        of: 'clientSecret',
        description: 'Card: the secret with which the browser of the payer completes it.',
        example: 'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH',
      },
    },
  },
  crypto_checkout: {
    id: 2,
    amounts: { USD: [1n, 1_000_000n * DOLLARS], ETH: [10n ** 9n, 10_000n * ETHER] },
    payer: {
      hosted_url: {
        of: 'checkoutUrl',
        description: 'Crypto checkout: the page for the payer.',
        example: 'https://pay.example/checkout/1',
        format: 'uri',
      },
      charge_id: {
        of: 'externalId',
        description: 'Crypto checkout.',
        example: 'REF04419271330985127764',
      },
    },
  },
  wallet_checkout: {
    id: 3,
    amounts: { USD: [1n, 10_000_00n], EUR: [1n, 10_000_00n], GBP: [1n, 10_000_00n] },
    party: {
      name: 'wallet checkout',
      variables: 'QUITTANCE_PAYPAL',
      url: 'https://api-m.paypal.com',
      settings: {
        clientId: { variable: 'CLIENT_ID', what: 'client id', simulated: 'sandbox' },
        clientSecret: { variable: 'CLIENT_SECRET', what: 'secret', simulated: '', isSecret: true },
        webhookId: { variable: 'WEBHOOK_ID', what: 'id of the webhook', simulated: 'WH-sandbox' },
      },
      simulator: { name: 'wallet', port: 9102 },
    },
    payer: {
      approval_url: {
        of: 'url',
        description: 'Wallet checkout: the page on which the payer approves.',
        example: 'https://pay.example/checkout/1',
        format: 'uri',
      },
      checkout_order_id: {
        of: 'externalId',
        description: 'Wallet checkout.',
        example: '5O190127TN364715T',
      },
    },
  },
} as const satisfies Readonly<Record<string, GatewayDefinition>>

export type GatewayKind = keyof typeof gateways

/** What a gateway's answer tells the payer, by its names. */
export type PayerFieldName = {
  [Kind in GatewayKind]: keyof (typeof gateways)[Kind]['payer']
}[GatewayKind]

export const GATEWAYS: Readonly<Record<GatewayKind, GatewayDefinition>> = gateways

/** What a program adds to them has a kind of its own. */
export function isBuiltInGateway(kind: string): kind is GatewayKind {
  return Object.hasOwn(gateways, kind)
}

const bank = {
  name: 'bank',
  variables: 'QUITTANCE_BANK',
  url: 'https://api.increase.com',
  settings: {
    key: { variable: 'KEY', what: 'key', simulated: '', isSecret: true },
    accountId: { variable: 'ACCOUNT', what: 'our account', simulated: 'account_sandbox' },
  },
  simulator: { name: 'bank', port: 9103 },
} as const satisfies PartyDefinition

/** Gateways whose charges somebody else holds. */
export type RemoteGatewayKind = {
  [Kind in GatewayKind]: (typeof gateways)[Kind] extends { party: object } ? Kind : never
}[GatewayKind]

export type PartyKind = RemoteGatewayKind | 'bank'

type DefinitionOf<Kind extends PartyKind> = Kind extends RemoteGatewayKind
  ? (typeof gateways)[Kind]['party']
  : typeof bank

/** What is known of one party: where it is, and a text for each of its settings. */
export type Party<Kind extends PartyKind> = { url: string } & Record<
  keyof DefinitionOf<Kind>['settings'],
  string
>

export const GATEWAY_KINDS = Object.keys(GATEWAYS) as readonly GatewayKind[]

export const PARTIES = Object.fromEntries([
  ...Object.entries(GATEWAYS).flatMap(([kind, { party }]) => (party ? [[kind, party]] : [])),
  ['bank', bank],
]) as Readonly<Record<PartyKind, PartyDefinition>>

export const PARTY_KINDS = Object.keys(PARTIES) as readonly PartyKind[]
