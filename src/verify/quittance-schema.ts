const decimal = { type: 'string', pattern: '^(0|[1-9][0-9]{0,77})$' } as const
const word = { type: 'string', pattern: '^0x[0-9a-f]{64}$' } as const
const address = { type: 'string', pattern: '^0x[0-9a-f]{40}$' } as const
const bytes = { type: 'string', pattern: '^0x([0-9a-f]{2})+$' } as const
const place = { type: 'integer', minimum: 0 } as const
const nodes = { type: 'array', items: bytes, minItems: 1, maxItems: 20 } as const
const none = { type: 'null' } as const

/**
 * The form of a quittance, as JSON Schema. It says less than `check` does: the schema knows neither
 * the order of keys nor what the proofs prove.
 */
export const quittanceSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Quittance',
  description: 'The proof of one payment on an Ethereum chain, version 1.',
  ...object({
    version: { const: 1 },
    chainId: decimal,
    block: object({
      number: decimal,
      hash: word,
      time: { type: 'string', maxLength: 64 },
      header: { ...bytes, maxLength: 16_386 },
    }),
    transaction: object({
      hash: word,
      index: place,
      from: address,
      to: { anyOf: [address, none] },
      value: decimal,
      proof: nodes,
    }),
    receipt: object({ proof: nodes }),
    payment: object({
      kind: { enum: ['native', 'settlement', 'transfer', 'mint', 'burn', 'supply'] },
      contract: { anyOf: [address, none] },
      token: { anyOf: [address, none] },
      payer: { anyOf: [address, none] },
      payee: { anyOf: [address, none] },
      amount: decimal,
      reference: { anyOf: [word, none] },
      rail: { enum: ['settlement', 'memo', 'eip3009', 'erc7699', 'request', null] },
      beside: { anyOf: [{ type: 'string', pattern: '^[A-Za-z]{1,32}$' }, none] },
      minter: { anyOf: [address, none] },
      log: { anyOf: [place, none] },
    }),
    order: {
      type: 'object',
      maxProperties: 32,
      propertyNames: { pattern: '^[a-zA-Z][a-zA-Z0-9_]{0,63}$' },
      additionalProperties: { type: 'string', maxLength: 512 },
    },
    digest: word,
  }),
} as const

function object<Properties extends Record<string, unknown>>(properties: Properties) {
  return {
    type: 'object' as const,
    properties,
    required: Object.keys(properties),
    additionalProperties: false as const,
  }
}
