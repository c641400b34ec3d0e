import { expect } from 'chai'

import { ConfigError, parseConfig } from '../../src/base/config.ts'
import { USUAL_GATEWAYS, USUAL_INSTITUTIONS } from '../../src/base/rails-config.ts'

describe('parseConfig', () => {
  it('needs nothing', () => {
    const config = parseConfig({})
    expect(config).to.include({ environment: 'sandbox', host: '127.0.0.1', port: 8080 })
    expect(config).to.include({ confirmations: 2, blockMs: 1000, databaseUrl: undefined })
    expect(config.rpcUrls).to.deep.equal([])
  })

  it('reads every variable', () => {
    const config = parseConfig({
      PORT: '0',
      HOST: '::1',
      QUITTANCE_STATUS_PORT: '9102',
      QUITTANCE_DRAIN_SECONDS: '15',
      QUITTANCE_TRUST_PROXY: '10.0.0.0/8, ::1,192.0.2.7',
      QUITTANCE_ENVIRONMENT: 'production',
      QUITTANCE_DATA: '/tmp/data',
      DATABASE_URL: 'postgres://a:b@localhost/c',
      PGPASSWORD: 'd',
      ETH_RPC_URL: 'http://one:8545, https://two/key',
      QUITTANCE_CONFIRMATIONS: 'finalized',
      QUITTANCE_IN_FLIGHT: '32',
      QUITTANCE_BLOCK_MS: '50',
      SETTLEMENT_ADDRESS: `0x${'1'.repeat(40)}`,
      STABLECOIN_ADDRESS: `0x${'a'.repeat(40)}`,
      QUITTANCE_TOKENS: `EURC:0x${'c'.repeat(40)}, DAI:0x${'d'.repeat(40)}`,
      QUITTANCE_WITHDRAWALS: 'holdings',
      QUITTANCE_SIGNER: 'mnemonic',
      QUITTANCE_SOURCE_KEY: 'sk_source',
      QUITTANCE_PAY_KEY: 'sk_pay',
      QUITTANCE_ADMIN_KEY: 'sk_admin',
      QUITTANCE_EMBEDDED_MAINNET: 'yes',
      QUITTANCE_TRUST_ONE_PROVIDER: 'yes',
      QUITTANCE_LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'X-Honeycomb-Team=a%2Cb, api-key = c=d',
      OTEL_SERVICE_NAME: 'payouts',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '.25',
      QUITTANCE_PUBLIC_URL: 'https://pay.example/',
      QUITTANCE_STRIPE_URL: 'http://127.0.0.1:9101',
      QUITTANCE_STRIPE_KEY: 'sk_test',
      QUITTANCE_STRIPE_WEBHOOK_SECRET: 'whsec',
      QUITTANCE_PAYPAL_CLIENT_ID: 'id',
      QUITTANCE_PAYPAL_CLIENT_SECRET: 'secret',
      QUITTANCE_PAYPAL_WEBHOOK_ID: 'hook',
      QUITTANCE_BANK_KEY: 'key',
      QUITTANCE_BANK_ACCOUNT: 'account_1',
      QUITTANCE_CHECKOUT_PAYEE: `0x${'b'.repeat(40)}`,
      QUITTANCE_CHECKOUT_SELLER: ' Books & Co ',
    })
    const { chains, ...rest } = config
    expect(chains).to.have.length(1)
    expect(rest).to.include(chains[0])
    expect(rest).to.deep.equal({
      name: undefined,
      code: 'ETH',
      chainId: undefined,
      stablecoinProfile: undefined,
      coin: undefined,
      stack: undefined,
      startBlock: undefined,
      port: 0,
      host: '::1',
      statusPort: 9102,
      drainMs: 15_000,
      trustedProxies: ['10.0.0.0/8', '::1', '192.0.2.7'],
      environment: 'production',
      dataFolder: '/tmp/data',
      databaseUrl: 'postgres://a:b@localhost/c',
      databasePassword: 'd',
      rpcUrls: ['http://one:8545', 'https://two/key'],
      confirmations: 'finalized',
      inFlight: 32,
      blockMs: 50,
      settlementAddress: `0x${'1'.repeat(40)}`,
      stablecoinAddress: `0x${'a'.repeat(40)}`,
      tokens: [
        { symbol: 'EURC', address: `0x${'c'.repeat(40)}` },
        { symbol: 'DAI', address: `0x${'d'.repeat(40)}` },
      ],
      withdrawals: 'holdings',
      signer: 'mnemonic',
      sourceKey: 'sk_source',
      payKey: 'sk_pay',
      adminKey: 'sk_admin',
      allowsEmbeddedMainnet: true,
      trustsOneProvider: true,
      logLevel: 'debug',
      tracing: {
        url: 'http://collector:4318/v1/traces',
        headers: { 'x-honeycomb-team': 'a,b', 'api-key': 'c=d' },
        serviceName: 'payouts',
        sampler: 'parentbased_traceidratio',
        ratio: 0.25,
      },
      rails: {
        publicUrl: 'https://pay.example',
        gateways: USUAL_GATEWAYS,
        institutions: USUAL_INSTITUTIONS,
        named: parseConfig({}).rails.named,
        usual: {
          card: { url: 'http://127.0.0.1:9101', key: 'sk_test', webhookSecret: 'whsec' },
          wallet_checkout: {
            url: 'https://api-m.paypal.com',
            clientId: 'id',
            clientSecret: 'secret',
            webhookId: 'hook',
          },
          bank: { url: 'https://api.increase.com', key: 'key', accountId: 'account_1' },
        },
        checkoutPayee: `0x${'b'.repeat(40)}`,
        seller: 'Books & Co',
      },
    })
  })

  it('takes a name of the seller that fits a page, and no other', () => {
    for (const QUITTANCE_CHECKOUT_SELLER of ['x'.repeat(81), 'a\u202eb', 'a\nb']) {
      expect(() => parseConfig({ QUITTANCE_CHECKOUT_SELLER })).to.throw('QUITTANCE_CHECKOUT_SELLER')
    }
  })

  it('has no traces without a collector, whatever else is set for those of other programs', () => {
    const set = { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'jaeger_remote', OTEL_OTHER: 'x' }
    expect(parseConfig(set).tracing).to.equal(undefined)
    const { tracing } = parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' })
    expect(tracing).to.deep.equal({
      url: 'http://collector:4318/v1/traces',
      headers: {},
      serviceName: 'quittance',
      sampler: 'parentbased_always_on',
      ratio: 1,
    })
  })

  const badTraces = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_HEADERS: 'just-a-name',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '1.5',
  }
  for (const [name, value] of Object.entries(badTraces)) {
    it(`refuses ${value} for ${name}, and shows no header`, () => {
      const set = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', [name]: value }
      const error = problemsOf(set)
      expect(error.message).to.match(new RegExp(`^${name} must be `))
      expect(error.message).not.to.include('just-a-name')
    })
  }

  it('refuses half of what a party takes, and names what is missing', () => {
    const half = { QUITTANCE_PAYPAL_CLIENT_ID: 'id', QUITTANCE_PAYPAL_CLIENT_SECRET: 'secret' }
    expect(() => parseConfig(half)).to.throw(/QUITTANCE_PAYPAL_WEBHOOK_ID is missing/)
  })

  it('reads which gateways there are, with the settings of each that has a name', () => {
    const { rails } = parseConfig({
      QUITTANCE_GATEWAYS: '5=card, 6=card:eu,2=crypto_checkout',
      QUITTANCE_STRIPE_KEY__EU: 'sk_test',
      QUITTANCE_STRIPE_WEBHOOK_SECRET__EU: 'whsec',
    })
    expect(rails.gateways).to.deep.equal([
      { id: 5, kind: 'card', party: undefined },
      { id: 6, kind: 'card', party: 'eu' },
      { id: 2, kind: 'crypto_checkout', party: undefined },
    ])
    const eu = { url: 'https://api.stripe.com', key: 'sk_test', webhookSecret: 'whsec' }
    expect([...rails.named.card]).to.deep.equal([['eu', eu]])
    expect(rails.usual.card).to.equal(undefined)
    expect(rails.institutions).to.equal(USUAL_INSTITUTIONS)
  })

  it('refuses a gateway whose settings are missing, and settings that no gateway has', () => {
    const named = { QUITTANCE_GATEWAYS: '6=card:eu' }
    expect(() => parseConfig(named)).to.throw(/__EU/)
    const half = { ...named, QUITTANCE_STRIPE_KEY__EU: 'sk_live_0123456789' }
    expect(() => parseConfig(half)).to.throw(/QUITTANCE_STRIPE_WEBHOOK_SECRET__EU is missing/)
    const stray = { QUITTANCE_STRIPE_KEY__EU: 'sk_live_0123456789' }
    expect(() => parseConfig(stray)).to.throw(/QUITTANCE_STRIPE_KEY__EU is not a variable/)
    const url = { ...half, QUITTANCE_STRIPE_URL__EU: 'nowhere' }
    expect(() => parseConfig(url)).to.throw(/QUITTANCE_STRIPE_URL__EU must be an http/)
  })

  it('waits for 12 confirmations on a chain that is not its own', () => {
    expect(parseConfig({ ETH_RPC_URL: 'http://one' }).confirmations).to.equal(12)
  })

  it('takes an empty variable for an absent one', () => {
    expect(parseConfig({ PORT: '', DATABASE_URL: ' ' })).to.deep.equal(parseConfig({}))
  })

  const bad: ReadonlyArray<[string, string]> = [
    ['PORT', '65536'],
    ['PORT', '80a'],
    ['PORT', '-1'],
    ['PORT', '1e3'],
    ['PORT', '８０'],
    ['HOST', 'a b'],
    ['QUITTANCE_TRUST_PROXY', 'true'],
    ['QUITTANCE_TRUST_PROXY', '0.0.0.0/0'],
    ['QUITTANCE_TRUST_PROXY', '10.0.0.0/33'],
    ['QUITTANCE_TRUST_PROXY', '10.0.0.1,'],
    ['QUITTANCE_TRUST_PROXY', 'proxy.example'],
    ['QUITTANCE_GATEWAYS', 'card'],
    ['QUITTANCE_GATEWAYS', '0=card'],
    ['QUITTANCE_GATEWAYS', '1=bank'],
    ['QUITTANCE_GATEWAYS', '1=card,'],
    ['QUITTANCE_GATEWAYS', '1=card,1=wallet_checkout'],
    ['QUITTANCE_GATEWAYS', '1=card,2=card'],
    ['QUITTANCE_GATEWAYS', '1=crypto_checkout:own'],
    ['QUITTANCE_GATEWAYS', '1=card:EU'],
    ['QUITTANCE_INSTITUTIONS', '1=card'],
    ['QUITTANCE_ENVIRONMENT', 'live'],
    ['DATABASE_URL', 'mysql://a'],
    ['DATABASE_URL', 'nonsense'],
    ['ETH_RPC_URL', 'ftp://a'],
    ['ETH_RPC_URL', 'http://a,,http://b'],
    ['QUITTANCE_CONFIRMATIONS', '0'],
    ['QUITTANCE_CONFIRMATIONS', 'latest'],
    ['QUITTANCE_IN_FLIGHT', '0'],
    ['QUITTANCE_IN_FLIGHT', '1001'],
    ['QUITTANCE_BLOCK_MS', '1'],
    ['SETTLEMENT_ADDRESS', '0x12'],
    ['STABLECOIN_ADDRESS', 'vitalik.eth'],
    ['QUITTANCE_LOG_LEVEL', 'loud'],
    ['QUITTANCE_CONFIRMATION', '3'],
  ]
  for (const [name, value] of bad) {
    it(`refuses ${name}=${value} with one line that names it`, () => {
      const error = problemsOf({ [name]: value })
      expect(error.problems).to.have.length(1)
      expect(error.problems[0]).to.match(new RegExp(`^${name} `))
      expect(error.message.split('\n')).to.have.length(1)
    })
  }

  it('names all bad values at once', () => {
    expect(problemsOf({ PORT: 'x', HOST: ' / ' }).problems).to.have.length(2)
  })

  it('shows no secret of a bad value', () => {
    const { message } = problemsOf({ DATABASE_URL: 'postgre://me:hunter2@host/db' })
    expect(message).not.to.include('hunter2')
  })
})

function problemsOf(env: Record<string, string>): ConfigError {
  try {
    parseConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('expected a refusal')
}
