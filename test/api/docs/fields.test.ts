import { expect } from 'chai'

import { fieldsOf } from '../../../src/api/docs/fields.ts'

const schemas = {
  Money: {
    type: 'object',
    required: ['amount'],
    properties: {
      amount: { type: 'string', description: 'All digits.' },
      currency: { enum: ['ETH', 'USD'] },
    },
  },
  Tree: { type: 'object', properties: { part: { $ref: '#/components/schemas/Tree' } } },
}

describe('the fields of a schema', () => {
  const listed = (schema: object) =>
    fieldsOf(schema, schemas).map(({ path, type, isRequired, description }) =>
      [path, type, isRequired ? 'required' : '', description].join(' ').trim(),
    )

  it('are found by their whole path, behind names and in lists', () => {
    const properties = {
      paid: { $ref: '#/components/schemas/Money', description: 'What came.' },
      parts: { type: 'array', items: { $ref: '#/components/schemas/Money' } },
    }
    expect(listed({ type: 'object', properties })).to.deep.equal([
      'paid object  What came.',
      'paid.amount string required All digits.',
      'paid.currency "ETH" | "USD"',
      'parts list of object',
      'parts[].amount string required All digits.',
      'parts[].currency "ETH" | "USD"',
    ])
  })

  it('of a list are those of what it lists', () => {
    expect(listed({ type: 'array', items: schemas.Money })[0]).to.match(/^\[\]\.amount string/)
  })

  it('are those of every form that it can have, each once', () => {
    const other = { type: 'object', properties: { amount: { type: 'string' }, at: { const: 1 } } }
    const anyOf = [{ $ref: '#/components/schemas/Money' }, other, { type: 'null' }]
    expect(listed({ anyOf })).to.deep.equal([
      'amount string required All digits.',
      'currency "ETH" | "USD"',
      'at 1',
    ])
    expect(listed({ properties: { when: { anyOf: [{ type: 'null' }, { const: 2 }] } } }))
      .to.deep //
      .equal(['when null | 2'])
  })

  it('end where a schema has itself as a part', () => {
    expect(listed(schemas.Tree).at(-1)).to.equal('part.part.part.part.part object')
  })
})
