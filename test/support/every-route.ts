import { HDNodeWallet, Signature, type BaseWallet } from 'ethers'
import { encodeFunctionData, maxUint256, type Abi, type Hex } from 'viem'

import { referenceDollarAbi, settlementAbi } from '../../src/bindings/abis.ts'
import { signAuthorization, signIntent, signPermit } from './contracts/signing.ts'
import { account } from './deployment.ts'
import { CHAIN_ID, calls, reference, type PaidChain } from './verify.ts'

/** A payment that was made through the settlement contract, and what a record says of it. */
export type Route = {
  name: string
  hash: Hex
  payer: Hex
  payee: Hex
  /** Undefined for native coin. */
  token: Hex | undefined
  amount: bigint
  reference: Hex
}

/** Every way through the settlement contract, with different money each time. */
export async function payEveryRoute(world: PaidChain): Promise<Route[]> {
  const { send, settlement, dollar, payer } = world
  const relayer = lower(account(7).address)
  const memo = reference(900)
  await send({
    to: dollar,
    data: calls.dollar('mintWithMemo', { to: payer, amount: 10n ** 9n, memo }),
  })
  await send({ to: dollar, data: dollarCall('approve', [settlement, maxUint256]) })
  const routes: Route[] = []
  const pay = async (name: string, facts: Omit<Route, 'name' | 'hash' | 'payer'>, call: object) => {
    const hash = await send({ to: settlement, ...call })
    routes.push({ name, hash, payer, ...facts })
  }
  const order = (at: number, token: Hex | undefined) => ({
    payee: lower(account(3).address),
    token,
    amount: BigInt(1_000 + at),
    reference: reference(at),
  })

  const coin = order(1, undefined)
  const { payee } = coin
  await pay('settle', coin, { data: calls.settle(coin.reference, payee), value: coin.amount })

  const held = order(2, dollar)
  const args = [held.reference, dollar, payee, held.amount] as const
  await pay('settleToken', held, { data: settlementCall('settleToken', args) })

  const references = [3, 4, 5].map(reference)
  const payees = references.map(() => payee)
  const amounts = [1_003n, 1_004n, 1_005n]
  const lists = [references, payees, amounts] as const
  const batched = { data: settlementCall('settleBatch', lists), value: 3_012n }
  await pay('settleBatch', order(4, undefined), batched)

  const tokens = [references.map((_, at) => reference(13 + at)), dollar, payees, amounts]
  const tokenBatch = { data: settlementCall('settleTokenBatch', tokens) }
  await pay('settleTokenBatch', { ...order(14, dollar), amount: 1_004n }, tokenBatch)

  const partial = [references.map((_, at) => reference(23 + at)), payees, amounts]
  const inPart = { data: settlementCall('settleBatchPartial', partial), value: 3_012n }
  await pay('settleBatchPartial', { ...order(24, undefined), amount: 1_004n }, inPart)

  const asked = order(30, dollar)
  const intent = await intentOf(world, asked)
  await pay('settleWithIntent', asked, { data: settlementCall('settleWithIntent', intent) })

  await send({ to: dollar, data: dollarCall('approve', [settlement, 0n]) })
  const permitted = order(40, dollar)
  const permit = await permitOf(world, permitted)
  await pay('settleWithPermit', permitted, { data: settlementCall('settleWithPermit', permit) })

  const relayed = order(50, dollar)
  const authorization = await authorizationOf(world, relayed)
  const data = settlementCall('settleWithAuthorization', authorization)
  await pay('settleWithAuthorization', relayed, { data, from: relayer })
  return routes
}

type Order = Omit<Route, 'name' | 'hash' | 'payer'>

async function intentOf({ settlement }: PaidChain, order: Order) {
  const operator = walletAt(8)
  const { reference: orderReference, payee, amount, token = ZERO } = order
  const intent = {
    operator: lower(operator.address),
    orderReference,
    payee,
    token,
    amount,
    deadline,
  }
  return [intent, await signIntent(operator, domainOf(settlement), intent)]
}

async function permitOf({ settlement, dollar, payer }: PaidChain, order: Order) {
  const permit = { owner: payer, spender: settlement, value: order.amount, nonce: 0n, deadline }
  const { v, r, s } = Signature.from(await signPermit(walletAt(0), domainOf(dollar), permit))
  return [order.reference, dollar, order.payee, order.amount, { deadline, v, r, s }]
}

async function authorizationOf({ chain, settlement, dollar, payer }: PaidChain, order: Order) {
  const { reference: orderReference, payee, amount } = order
  const nonce = await chain.client.readContract({
    abi: settlementAbi,
    address: settlement,
    functionName: 'authorizationNonce',
    args: [orderReference, dollar, payee],
  })
  const [validAfter, validBefore] = [0n, deadline]
  const authorization = {
    from: payer,
    to: settlement,
    value: amount,
    validAfter,
    validBefore,
    nonce,
  }
  const signature = await signAuthorization(walletAt(0), domainOf(dollar), {
    kind: 'Receive',
    authorization,
  })
  return [orderReference, dollar, payee, amount, payer, validAfter, validBefore, signature]
}

const deadline = 10n ** 12n
const ZERO: Hex = `0x${'0'.repeat(40)}`

function domainOf(verifyingContract: Hex) {
  return { chainId: BigInt(CHAIN_ID), verifyingContract }
}

/** Without the names of their functions, which a caller gives as any text. */
const ANY_SETTLEMENT_CALL: Abi = settlementAbi
const ANY_DOLLAR_CALL: Abi = referenceDollarAbi

function settlementCall(functionName: string, args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: ANY_SETTLEMENT_CALL, functionName, args })
}

function dollarCall(functionName: string, args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: ANY_DOLLAR_CALL, functionName, args })
}

function walletAt(index: number): BaseWallet {
  const phrase = 'test test test test test test test test test test test junk'
  return HDNodeWallet.fromPhrase(phrase, undefined, `m/44'/60'/0'/0/${index}`)
}

function lower(address: string): Hex {
  return address.toLowerCase() as Hex
}
