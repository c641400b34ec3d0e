import { decodeFunctionResult, encodeFunctionData, erc20Abi } from 'viem'

import type { Hex } from '../../../src/domain/orders.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { readBalance } from '../../../src/store/ledger/ledger.ts'
import { readLedger } from '../../fixtures/books/money.ts'
import type { Act, Asked, Payer } from './payer.ts'

type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>

/** Every accepted payment and mint is on the chain once, and nothing else is. */
export async function compareChain(chain: {
  rpc: Rpc
  stablecoin: Hex
  asked: readonly Asked[]
  payers: readonly Payer[]
}): Promise<string[]> {
  const { rpc, stablecoin, asked, payers } = chain
  const wrongs: string[] = []
  for (const { act, key, payee, amount } of asked.filter((one) => one.act !== 'transfer')) {
    const paid = await (act === 'mint'
      ? tokensOf(rpc, stablecoin, { functionName: 'balanceOf', args: [payee] })
      : rpc('eth_getBalance', [payee, 'latest']).then((balance) => BigInt(String(balance))))
    if (paid !== amount) wrongs.push(`${key}: the ${act} of ${amount} is ${paid} on the chain`)
  }
  const supply = await tokensOf(rpc, stablecoin, { functionName: 'totalSupply' })
  const minted = sumOf(asked, 'mint')
  if (supply !== minted) wrongs.push(`${minted} were minted, but the supply is ${supply}`)
  for (const payer of payers) {
    const [mined, pending] = await Promise.all(
      ['latest', 'pending'].map((at) => rpc('eth_getTransactionCount', [payer.address, at])),
    )
    const mine = asked.filter((one) => one.act === 'payment' && one.payer === payer).length
    if (mined !== pending) wrongs.push(`${payer.address} has a transaction that waits`)
    if (Number(mined) !== mine) {
      wrongs.push(`${payer.address} paid ${mine} times, its nonce is ${Number(mined)}`)
    }
  }
  return wrongs
}

/** The books add up, and say of each wallet what was asked of it. */
export async function compareLedger(
  db: Db,
  { asked, payers, funded }: { asked: readonly Asked[]; payers: readonly Payer[]; funded: bigint },
): Promise<string[]> {
  const wrongs: string[] = []
  const { sum, astray } = await readLedger(db)
  if (sum !== 0n) wrongs.push(`the accounts sum up to ${sum}`)
  if (astray > 0) wrongs.push(`${astray} balances are not what their postings make`)
  for (const payer of payers) {
    const own = asked.filter((one) => one.payer === payer)
    const [moved, minted] = [sumOf(own, 'transfer'), sumOf(own, 'mint')]
    const owed = [
      [payer.main, funded - moved - minted],
      [payer.second, moved],
    ] as const
    for (const [wallet, amount] of owed) {
      const held = await readBalance(db, { wallet })
      if (held !== amount) wrongs.push(`wallet ${wallet} should hold ${amount}, and holds ${held}`)
    }
  }
  return wrongs
}

function sumOf(asked: readonly Asked[], act: Act): bigint {
  return asked.filter((one) => one.act === act).reduce((sum, { amount }) => sum + amount, 0n)
}

async function tokensOf(
  rpc: Rpc,
  to: Hex,
  call:
    | { functionName: 'balanceOf'; args: readonly [Hex] }
    | { functionName: 'totalSupply'; args?: readonly [] },
): Promise<bigint> {
  const data = encodeFunctionData({ abi: erc20Abi, ...call })
  const answer = (await rpc('eth_call', [{ to, data }, 'latest'])) as Hex
  return decodeFunctionResult({ abi: erc20Abi, functionName: call.functionName, data: answer })
}
