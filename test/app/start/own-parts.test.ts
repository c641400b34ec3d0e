import { expect } from 'chai'

import { requireFitting } from '../../../src/app/start/own-parts.ts'
import { parseConfig } from '../../../src/base/config.ts'
import type { OwnBank } from '../../../src/rails/own/bank.ts'
import type { OwnGateway } from '../../../src/rails/own/gateway.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const nothing = () => Promise.reject(new Error('not asked'))
const BANK: OwnBank = {
  name: 'house',
  institutions: [{ id: 7, kind: 'wire' }],
  send: nothing,
  find: nothing,
}
const GATEWAY: OwnGateway = {
  id: 9,
  kind: 'voucher',
  amounts: { USD: [1n, 100n] },
  create: nothing,
  read: nothing,
  refund: nothing,
}
const FIELD = { of: 'url', description: 'Voucher.', example: 'https://a.example' } as const

describe('your own parts', () => {
  const fit = (own: object, environment: Record<string, string> = {}): void =>
    requireFitting(own, parseConfig(environment))

  it('may be none, or all', () => {
    fit({})
    const payer = { voucher_url: FIELD, client_secret: { ...FIELD, of: 'clientSecret' } }
    const gateways = [
      { ...GATEWAY, payer },
      { ...GATEWAY, id: 10, kind: 'cash' },
    ]
    const banks = [BANK, { ...BANK, name: 'other', institutions: [], isDefault: true }]
    fit({ banks, gateways, signers: [], screen: nothing })
  })

  it('take the ids that the settings leave them', () => {
    const own = {
      banks: [{ ...BANK, institutions: [{ id: 1, kind: 'ach' }] }],
      gateways: [{ ...GATEWAY, id: 1 }],
    }
    fit(own, { QUITTANCE_GATEWAYS: '2=crypto_checkout', QUITTANCE_INSTITUTIONS: '2=wire' })
  })

  const mistakes: ReadonlyArray<[string, object, RegExp]> = [
    [
      'a gateway under an id of the settings',
      { gateways: [{ ...GATEWAY, id: 2 }] },
      /^The gateway "voucher" has the id 2, which crypto_checkout has\. .*QUITTANCE_GATEWAYS/,
    ],
    [
      'two gateways under one id',
      { gateways: [GATEWAY, { ...GATEWAY, kind: 'cash' }] },
      /"cash" has the id 9, which voucher has/,
    ],
    ['a kind of ours', { gateways: [{ ...GATEWAY, kind: 'card' }] }, /kind that is taken/],
    ['a kind twice', { gateways: [GATEWAY, { ...GATEWAY, id: 10 }] }, /kind that is taken/],
    ['a kind that is no word', { gateways: [{ ...GATEWAY, kind: 'Voucher 2' }] }, /needs a kind/],
    ['no kind', { gateways: [{ ...GATEWAY, kind: undefined }] }, /needs a kind/],
    ['an id of 0', { gateways: [{ ...GATEWAY, id: 0 }] }, /whole number/],
    ['an id that is text', { gateways: [{ ...GATEWAY, id: '9' }] }, /whole number/],
    [
      'a gateway that does not refund',
      { gateways: [{ ...GATEWAY, refund: undefined }] },
      /"voucher" has no function refund/,
    ],
    ['no amounts', { gateways: [{ ...GATEWAY, amounts: {} }] }, /needs amounts/],
    ['an unknown currency', { gateways: [{ ...GATEWAY, amounts: { CHF: [1n, 2n] } }] }, /amounts/],
    ['amounts without the least', { gateways: [{ ...GATEWAY, amounts: { USD: 5n } }] }, /amounts/],
    ['amounts of 0', { gateways: [{ ...GATEWAY, amounts: { USD: [0n, 2n] } }] }, /amounts/],
    ['amounts in doubles', { gateways: [{ ...GATEWAY, amounts: { USD: [1, 2] } }] }, /amounts/],
    ['the most below the least', { gateways: [{ ...GATEWAY, amounts: { USD: [2n, 1n] } }] }, /am/],
    [
      'a field for the payer that every answer has',
      { gateways: [{ ...GATEWAY, payer: { status: FIELD } }] },
      /payer field "status"/,
    ],
    [
      'a field for the payer of nothing',
      { gateways: [{ ...GATEWAY, payer: { voucher: { ...FIELD, of: 'checkoutUrl' } } }] },
      /payer field "voucher"/,
    ],
    [
      'a bank without a function',
      { banks: [{ ...BANK, find: undefined }] },
      /The bank "house" has no function find/,
    ],
    ['a bank twice', { banks: [BANK, { ...BANK, institutions: [] }] }, /name that is taken/],
    ['a bank without a list', { banks: [{ ...BANK, institutions: undefined }] }, /no list of inst/],
    ['a bank without a name', { banks: [{ ...BANK, name: '' }] }, /needs a name/],
    [
      'an institution of the settings',
      { banks: [{ ...BANK, institutions: [{ id: 2, kind: 'wire' }] }] },
      /"house" has the id 2, which wire has/,
    ],
    [
      'an institution that sends by pigeon',
      { banks: [{ ...BANK, institutions: [{ id: 7, kind: 'pigeon' }] }] },
      /neither ach nor wire/,
    ],
    [
      'two banks for Group A',
      {
        banks: [
          { ...BANK, isDefault: true },
          { ...BANK, name: 'b', institutions: [], isDefault: true },
        ],
      },
      /house and b/,
    ],
    ['a screen that is no function', { screen: {} }, /`screen` is not a function/],
  ]
  for (const [name, own, sentence] of mistakes) {
    it(`are refused with ${name}`, async () => {
      const { message } = await expectFailure(() => fit(own), 'own_part_wrong')
      expect(message).to.match(sentence)
    })
  }

  it('are refused where the settings also say who signs, or have the name', async () => {
    const phrase = `seed:${'test '.repeat(11)}junk`
    await expectFailure(() => fit({ signers: [] }, { QUITTANCE_SIGNER: phrase }), 'own_part_wrong')
    const west = { ...BANK, name: 'west' }
    const settings = {
      QUITTANCE_INSTITUTIONS: '1=wire:west',
      QUITTANCE_BANK_KEY__WEST: 'k',
      QUITTANCE_BANK_ACCOUNT__WEST: 'a',
    }
    await expectFailure(() => fit({ banks: [west] }, settings), 'own_part_wrong')
  })
})
