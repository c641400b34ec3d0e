import { LEDGER_DECIMALS, parseAmount } from '../../domain/money.ts'
import type { Db } from '../database/database.ts'
import { post } from './ledger.ts'
import { countWallets, insertWallet, listWallets } from './wallets.ts'

/**
 * Puts money that is none into the wallets of the sandbox's user, once. The user may have moved it
 * since, and opened other wallets.
 */
export async function ensureDemoMoney(db: Db, userId: number): Promise<void> {
  if ((await countWallets(db, userId)) < DEPOSITS.length) {
    await insertWallet(db, { userId, description: 'Second wallet' })
  }
  const newest = await listWallets(db, userId, { size: 100 })
  for (const [index, wallet] of newest.toReversed().slice(0, DEPOSITS.length).entries()) {
    await post(db, {
      kind: 'deposit',
      subject: `demo:${wallet.id}`,
      from: { system: 'bank' },
      to: { wallet: wallet.id },
      amount: parseAmount({ text: DEPOSITS[index] ?? '', decimals: LEDGER_DECIMALS }),
      currency: wallet.currency,
    })
  }
}

const DEPOSITS: readonly string[] = ['1000000', '250000']
