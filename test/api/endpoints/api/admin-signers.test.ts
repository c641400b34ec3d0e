import { expect } from 'chai'

import type { Hex } from '../../../../src/domain/orders.ts'
import type { SignerFacts } from '../../../../src/domain/signers.ts'
import { startAdminApi, type AdminApi } from '../../../fixtures/api/admin-api.ts'

const ADDRESS: Hex = `0x${'ab'.repeat(20)}`
const OPENED = new Date('2026-01-02T03:04:05Z')

const facts: SignerFacts = {
  address: ADDRESS,
  purposes: ['mints', 'refunds'],
  balance: 1_500_000_000_000_000_000n,
  nextNonce: 7n,
  onItsWay: 2,
  gasToday: 21_000n,
  needed: 2_000_000_000_000_000_000n,
  isFrozen: false,
  mint: { isMinter: true, allowance: 1_000_500_000n },
  alerts: [{ kind: 'signer_funds_low', openedAt: OPENED }],
}

const unknown = { balance: undefined, nextNonce: undefined, needed: undefined, mint: undefined }

describe('the signers that administrators see', () => {
  let admin: AdminApi

  beforeEach(async () => {
    const users = Array.from({ length: 1_050 }, (_, place) => ({
      ...facts,
      ...unknown,
      userId: place + 1,
      username: `user-${place}`,
    }))
    admin = await startAdminApi({
      signers: {
        own: [],
        platform: async () => [facts],
        users: async ({ afterId, limit }) => users.slice(afterId, afterId + limit),
        stablecoin: async () => ({
          address: ADDRESS,
          symbol: 'USDC',
          decimals: 6,
          profile: 'fiat_token' as const,
          isPaused: undefined,
        }),
      },
    })
  })
  afterEach(() => admin.api.close())

  it('are the platform’s own, in exact words, with what they lack', async () => {
    const { body } = await admin.send({ url: '/api/admin/signers' })
    expect(body['platform']).to.deep.equal([
      {
        address: '0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB',
        purposes: ['mints', 'refunds'],
        balance_wei: '1500000000000000000',
        balance_decimal: '1.5',
        next_nonce: 7,
        on_its_way: 2,
        gas_today_wei: '21000',
        gas_today_decimal: '0.000000000000021',
        needed_wei: '2000000000000000000',
        needed_decimal: '2',
        is_short: true,
        mint: { is_minter: true, allowance: '1000.50' },
        alerts: [{ kind: 'signer_funds_low', since: OPENED.toISOString() }],
      },
    ])
    expect(body['stablecoin']).to.include({ profile: 'fiat_token', is_paused: null })
  })

  it('are the users’ page by page, a thousand of them and more', async () => {
    let seen = 0
    for (let after: number | null = 0; after !== null;) {
      const url: string = `/api/admin/signers?limit=100&after_id=${after}`
      const { body } = await admin.send({ url })
      const users = body['users'] as Array<Record<string, unknown>>
      expect(users.length).to.be.within(1, 100)
      expect(users[0]).to.include({ user_id: seen + 1, balance_wei: null, is_short: null })
      seen += users.length
      after = body['next_after_id'] as number | null
    }
    expect(seen).to.equal(1_050)
  })

  it('are shown to nobody else', async () => {
    const { status } = await admin.send({ url: '/api/admin/signers' }, 'alice')
    expect(status).to.equal(403)
  })
})
