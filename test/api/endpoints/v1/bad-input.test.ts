import { expect } from 'chai'

import {
  listNotificationBodies,
  startMoneyApi,
  TOKEN,
  type MoneyApi,
} from '../../../fixtures/books/money.ts'

/** What is wrong, the status and the code for it, and the field that is named. */
type Case = [string, Record<string, unknown>, number, number, string?]

describe("Group A's bad input", () => {
  let money: MoneyApi

  before(async () => {
    money = await startMoneyApi()
  })
  after(() => money.api.close())

  const refuses = (url: string, base: () => Record<string, unknown>, cases: () => Case[]) => {
    for (const [index, [name]] of cases().entries()) {
      it(`${url} refuses ${name}`, async () => {
        const [, change, status, code, field] = cases()[index]!
        const answer = await money.post(url, { ...base(), ...change })
        expect(answer.status, answer.text).to.equal(status)
        expect(answer.body, answer.text).to.include({ code })
        if (field === undefined) return
        const [first] = answer.body['errors'] as { location: string }[]
        expect(first?.location).to.equal(field)
      })
    }
  }

  const amounts: Case[] = [
    ['a number as the amount', { amount: 5 }, 400, 2, 'amount'],
    ['a number with decimals', { amount: 5.5 }, 400, 2, 'amount'],
    ['no amount', { amount: undefined }, 400, 2, 'amount'],
    ['an empty amount', { amount: '' }, 400, 2, 'amount'],
    ['a sign', { amount: '-5' }, 400, 2, 'amount'],
    ['an exponent', { amount: '1e3' }, 400, 2, 'amount'],
    ['a leading zero', { amount: '05' }, 400, 2, 'amount'],
    ['a space', { amount: ' 5' }, 400, 2, 'amount'],
    ['zero', { amount: '0' }, 400, 1077, 'amount'],
    ['zero with decimals', { amount: '0.00' }, 400, 1077, 'amount'],
    ['nested zero', { amount: { amount: '0', currency: 'USD' } }, 400, 1077, 'amount.amount'],
    ['fourteen digits', { amount: '10000000000000' }, 400, 1076, 'amount'],
    ['seven decimals', { amount: '1.0000001' }, 400, 2, 'amount'],
    ['an unknown currency', { currency: 'XYZ' }, 400, 1078, 'currency'],
    ['another currency', { currency: 'EUR' }, 400, 1078, 'currency'],
    ['lower case', { currency: 'usd' }, 400, 1078, 'currency'],
    [
      'another currency inside',
      { amount: { amount: '1', currency: 'EUR' } },
      400,
      1078,
      'amount.currency',
    ],
    ['an unknown field', { fee: '1' }, 400, 2, 'fee'],
    ['an unknown field of the amount', { amount: { amount: '1', unit: 'x' } }, 400, 2],
    ['more than there is', { amount: '101' }, 400, 1093, 'amount'],
  ]

  const wallet = (id: bigint | string) => ({ type: 'wallet', id: String(id) })
  const chain = (change: object = {}) => ({ type: 'blockchain', chain: 'ETH', ...change })
  const wire = { type: 'wire', name: 'Ada', addressLine1: '12 St James Square' }
  const holder = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

  refuses(
    '/v1/transfers',
    () => ({ source: wallet(money.main), destination: wallet(money.second), amount: '1' }),
    () => [
      ...amounts,
      ['no source', { source: undefined }, 400, 2, 'source'],
      ['no destination', { destination: undefined }, 400, 2, 'destination'],
      ['an unknown type', { source: { type: 'card', id: '1' } }, 400, 2, 'source.type'],
      ['a source without an id', { source: { type: 'wallet' } }, 400, 2, 'source.id'],
      [
        'an address of a wallet',
        { source: { ...wallet(money?.main ?? 1n), address: holder } },
        400,
        2,
        'source.address',
      ],
      ['a destination without an id', { destination: { type: 'wallet' } }, 400, 2],
      ['a text as a wallet', { destination: wallet('mine') }, 400, 2, 'destination.id'],
      ['an unknown source', { source: wallet('999') }, 404, 1089],
      ['an unknown destination', { destination: wallet('999') }, 404, 1069],
      [
        'a transfer to itself',
        { destination: wallet(money?.main ?? 1n) },
        400,
        2007,
        'destination.id',
      ],
      ['wallet to wire', { destination: wire }, 400, 2007, 'destination.type'],
      ['wallet to no address', { destination: chain() }, 400, 2, 'destination.address'],
      ['blockchain to wallet', { source: chain() }, 400, 2007, 'destination.type'],
      [
        'blockchain to blockchain',
        { source: chain(), destination: chain() },
        400,
        2007,
        'destination.type',
      ],
      ['a prototype', { destination: JSON.parse('{"__proto__":{"type":"wallet"}}') }, 400, 2],
    ],
  )

  refuses(
    '/v1/transfers',
    () => ({ source: chain(), destination: { type: 'wire' }, amount: '1' }),
    () => [
      ...amounts.slice(0, -1),
      ['three decimals of a redeem', { amount: '1.001' }, 400, 2, 'amount'],
      ['a redeem without a chain', { source: { type: 'blockchain' } }, 400, 2, 'source.chain'],
      ['a redeem from SOL', { source: chain({ chain: 'SOL' }) }, 400, 2005, 'source.chain'],
      ['a redeem from eth', { source: chain({ chain: 'eth' }) }, 400, 2005, 'source.chain'],
      [
        'a holder whose checksum is wrong',
        { source: chain({ address: holder.replace('aAeb', 'AAeb') }) },
        400,
        5014,
        'source.address',
      ],
      ['half a bank account', { destination: { ...wire, accountNumber: '1' } }, 400, 2],
      ['a chain of a wire', { destination: { ...wire, chain: 'ETH' } }, 400, 2],
    ],
  )

  refuses(
    '/v1/payments',
    () => ({ destination: wire, amount: '1' }),
    () => [
      ...amounts,
      ['three decimals', { amount: '1.001' }, 400, 2, 'amount'],
      ['no destination', { destination: undefined }, 400, 2, 'destination'],
      ['another type', { destination: { ...wire, type: 'ach' } }, 400, 2, 'destination.type'],
      ['no name', { destination: { ...wire, name: undefined } }, 400, 2, 'destination.name'],
      ['an empty name', { destination: { ...wire, name: '' } }, 400, 2, 'destination.name'],
      ['no address', { destination: { ...wire, addressLine1: undefined } }, 400, 2],
      ['a bad routing number', { destination: { ...wire, routingNumber: '12' } }, 400, 2],
      ['half a bank account', { destination: { ...wire, routingNumber: '021000021' } }, 400, 2],
      ['a text that is no e-mail', { metadata: { beneficiaryEmail: 'ada' } }, 400, 2],
      ['unknown metadata', { metadata: { order: '1' } }, 400, 2, 'metadata.order'],
      ['an unknown source', { source: wallet('999') }, 404, 1089],
    ],
  )

  refuses(
    '/v1/businessAccount/transfers',
    () => ({ destination: chain({ address: holder }), amount: '1' }),
    () => [
      ...amounts,
      ['a mint to a wallet', { destination: wallet('1') }, 400, 2007, 'destination.type'],
      ['a mint to a wire', { destination: wire }, 400, 2007, 'destination.type'],
      ['no address', { destination: chain() }, 400, 2, 'destination.address'],
      [
        'no chain',
        { destination: { type: 'blockchain', address: holder } },
        400,
        2,
        'destination.chain',
      ],
      ['a chain we lack', { destination: chain({ chain: 'SOL', address: holder }) }, 400, 2005],
      [
        'a wrong checksum',
        { destination: chain({ address: holder.replace('aAeb', 'AAeb') }) },
        400,
        5014,
        'destination.address',
      ],
      ['half an address', { destination: chain({ address: holder.slice(0, 30) }) }, 400, 5014],
      ['a name', { destination: chain({ address: 'vitalik.eth' }) }, 400, 5014],
      ['the zero address', { destination: chain({ address: `0x${'0'.repeat(40)}` }) }, 400, 5014],
      ['the token itself', { destination: chain({ address: TOKEN }) }, 400, 5014],
      [
        'an unknown recipient',
        {
          destination: {
            type: 'verified_blockchain',
            addressId: '00000000-0000-4000-8000-000000000000',
          },
        },
        404,
        5014,
      ],
      ['no recipient', { destination: { type: 'verified_blockchain' } }, 400, 2],
      ['an unknown source', { source: wallet('999') }, 404, 1089],
    ],
  )

  refuses(
    '/v1/businessAccount/wallets/addresses/recipient',
    () => ({ address: holder, chain: 'ETH', description: 'Treasury' }),
    () => [
      ['no address', { address: undefined }, 400, 2, 'address'],
      ['a chain we lack', { chain: 'BTC' }, 400, 2005, 'chain'],
      ['another currency', { currency: 'EUR' }, 400, 1078, 'currency'],
      ['a wrong checksum', { address: holder.replace('aAeb', 'AAeb') }, 400, 5014, 'address'],
      ['no description', { description: undefined }, 400, 2, 'description'],
      ['a tag', { addressTag: '1' }, 400, 2],
    ],
  )

  it('refuses a key that stands twice, wherever money moves', async () => {
    for (const url of ['/v1/transfers', '/v1/payments', '/v1/businessAccount/transfers']) {
      const answer = await money.post(url, '{"amount":"1","amount":"2"}')
      expect(answer.status).to.equal(400)
      expect(answer.body).to.include({ code: 2 })
    }
  })

  it('leaves no trace of what it refused', async () => {
    expect(await money.balanceOf(money.main)).to.equal('100.00')
    expect(await listNotificationBodies(money.db)).to.deep.equal([])
  })
})
