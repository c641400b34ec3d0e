import { expect } from 'chai'

import { createMint } from '../../src/ledger/mints.ts'
import type { Db } from '../../src/store/database/database.ts'
import { listUnsettledChains, recordChain } from '../../src/store/database/chains.ts'
import { listSystemBalances } from '../../src/store/ledger/everyones-ledger.ts'
import { post, readBalance } from '../../src/store/ledger/ledger.ts'
import { lockMint } from '../../src/store/ledger/transfers.ts'
import { listTransactions } from '../../src/store/transactions/list.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { DOLLAR, ledgerOf, makeWallets, referenceOf } from '../fixtures/books/money.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { freshDatabase } from '../fixtures/store/database.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

const BASE = { chainId: 8453, name: 'base', code: 'BASE', coin: 'ETH' }
const OP = { chainId: 10, name: 'optimism', code: 'OP', coin: 'ETH' }

describe('the records of several chains', () => {
  let db: Db
  let userId: number

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    ;({ id: userId } = await makeUser(db))
    for (const chain of [BASE, OP]) await recordChain(db, chain)
  })

  it('keep a name and a code for one chain', async () => {
    await recordChain(db, BASE)
    await expectFailure(() => recordChain(db, { ...BASE, chainId: 7 }), 'wrong_chain')
    await expectFailure(() => recordChain(db, { ...OP, name: 'op', code: 'BASE' }), 'wrong_chain')
    expect(await listUnsettledChains(db)).to.deep.equal([])
  })

  it('are recorded by processes that start at the same moment', async () => {
    for (let chainId = 1000; chainId < 1030; chainId++) {
      const chain = { chainId, name: `chain-${chainId}`, code: `C${chainId}`, coin: 'ETH' }
      await Promise.all(Array.from({ length: 8 }, () => recordChain(db, chain)))
    }
  })

  it('tell two mints of one memo apart by their chains', async () => {
    const { main: walletId } = await makeWallets(db, userId)
    const mintOn = async ({ chainId, code }: typeof BASE, id: string) =>
      db.transaction().execute((open) =>
        createMint(ledgerOf(), open, {
          kind: 'mint',
          id,
          userId,
          walletId,
          amount: DOLLAR,
          currency: 'USD',
          chain: code,
          chainId,
          address: `0x${'aa'.repeat(20)}`,
          addressId: undefined,
          reference: referenceOf('7'),
          transactionHash: `0x${'ab'.repeat(32)}`,
        }),
      )
    const ids = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002']
    await mintOn(BASE, ids[0]!)
    await mintOn(OP, ids[1]!)
    const found = async (chainId: number) =>
      (await lockMint(db, { chainId, reference: referenceOf('7') }))?.id
    expect([await found(BASE.chainId), await found(OP.chainId)]).to.deep.equal(ids)
    expect(await found(1)).to.equal(undefined)
  })

  it('owe the holders of each stablecoin by itself', async () => {
    const posting = { kind: 'deposit', currency: 'USD', amount: DOLLAR } as const
    const from = { system: 'bank' } as const
    await post(db, { ...posting, subject: 'one', from, to: { stablecoinOn: OP.chainId } })
    expect(await readBalance(db, { stablecoinOn: OP.chainId })).to.equal(DOLLAR)
    expect(await readBalance(db, { stablecoinOn: BASE.chainId })).to.equal(0n)
    const shown = (await listSystemBalances(db)).filter(({ kind }) => kind === 'stablecoin')
    expect(shown.map(({ chain, balance }) => [chain, balance])).to.deep.equal([
      ['base', 0n],
      ['optimism', DOLLAR],
    ])
  })

  it('are listed by chain, with its name, or its id where it has none', async () => {
    for (const chainId of [BASE.chainId, OP.chainId, 7, undefined]) {
      await makeTransaction(db, { userId, type: 'settlement', chainId })
    }
    const listed = async (chainId?: number) => {
      const page = { limit: 10, offset: 0 }
      const { transactions, total } = await listTransactions(db, { userId, chainId }, page)
      return [total, ...transactions.map(({ chain }) => chain)]
    }
    expect(await listed()).to.deep.equal([4, null, '7', 'optimism', 'base'])
    expect(await listed(OP.chainId)).to.deep.equal([1, 'optimism'])
    expect(await listed(1)).to.deep.equal([0])
  })
})
