import { encodeFunctionData, type Hex } from 'viem'

import { settlementAbi } from '../../src/bindings/abis.ts'
import { calling, type InnerCall } from './batch-code.ts'
import { payEveryRoute, type Route } from './every-route.ts'
import { settledLog, transferLog, writeLogs, type Written } from './logger.ts'
import { calls, reference, startPaidChain, takeNonce, type PaidChain } from './verify.ts'
import { deployWorthless, encodeDollar } from './worthless.ts'

/** One transaction, and what it really pays, or pretends to. */
export type Scene = {
  world: PaidChain
  hash: Hex
  payer: Hex
  payee: Hex
  amount: bigint
  token: Hex | undefined
  reference: Hex | undefined
  /** A token that it does not pay in. */
  otherToken: Hex
  /** An item of it that was not paid. */
  failed?: { payee: Hex; reference: Hex }
}

type RouteName =
  | 'settle'
  | 'settleToken'
  | 'settleBatch'
  | 'settleTokenBatch'
  | 'settleBatchPartial'
  | 'settleWithIntent'
  | 'settleWithPermit'
  | 'settleWithAuthorization'

export type SceneName =
  | RouteName
  | 'direct'
  | 'transfer'
  | 'transferWithMemo'
  | 'worthless'
  | 'mint'
  | 'burn'
  | 'fake transfer'
  | 'fake mint'
  | 'fake settled'
  | 'one unit beside a fake'
  | 'poisoning'
  | 'reverted'
  | 'partial failure'
  | 'ghost'
  | 'replaced'
  | 'taker'
  | 'taken back'
  | 'partly taken back'
  | 'equal transfers'
  | 'not final'

export const FAKE: Hex = `0x${'fa'.repeat(20)}`
const REFUSER: Hex = `0x${'fe'.repeat(20)}`
const ZERO: Hex = `0x${'00'.repeat(20)}`
const GHOST: Hex = `0x${'ee'.repeat(32)}`
const FAKED = 25_000_000n

/** The receipts that all claims are about: honest, hostile and absent ones. */
export async function startClaimsChain(): Promise<{
  world: PaidChain
  scenes: Record<SceneName, Scene>
}> {
  const world = await startPaidChain()
  const routes = new Map((await payEveryRoute(world)).map((route) => [route.name, route]))
  const routed = (name: RouteName): Scene => sceneOf(world, routes.get(name))
  const scenes = {
    settle: routed('settle'),
    settleToken: routed('settleToken'),
    settleBatch: routed('settleBatch'),
    settleTokenBatch: routed('settleTokenBatch'),
    settleBatchPartial: routed('settleBatchPartial'),
    settleWithIntent: routed('settleWithIntent'),
    settleWithPermit: routed('settleWithPermit'),
    settleWithAuthorization: routed('settleWithAuthorization'),
    ...(await payDirectly(world)),
    ...(await lie(world)),
    ...(await fail(world)),
    ...(await payInOne(world)),
  }
  await world.mine(3)
  const { payer, payee, dollar: otherToken } = world
  const base = { world, payer, payee, otherToken, token: undefined, reference: undefined }
  const hash = await world.send({ to: payee, value: 91n })
  return { world, scenes: { ...scenes, 'not final': { ...base, hash, amount: 91n } } }
}

/** Several transfers in one receipt, made by a contract that may take the payer's dollars. */
async function payInOne(world: PaidChain) {
  const { payer, payee, dollar, chain, send } = world
  const base = { world, payer, token: dollar, otherToken: dollar, reference: undefined }
  const run = async (at: Hex, ...data: Hex[]): Promise<Hex> => {
    const calls = data.map((one): InnerCall => ({ to: dollar, data: one }))
    const params = [at, calling(calls)]
    await chain.client.request({ method: 'anvil_setCode', params } as never)
    await send({ to: dollar, data: encodeDollar('approve', [at, 1_000n]) })
    return send({ to: at })
  }
  const [whole, part, equal] = ['b1', 'b2', 'b3'].map((byte): Hex => `0x${byte.repeat(20)}`)
  if (!whole || !part || !equal) throw new Error('an address is missing')
  const take = (to: Hex) => encodeDollar('transferFrom', [payer, to, 45n])
  const give = (amount: bigint) => encodeDollar('transfer', [payer, amount])
  return {
    'taken back': {
      ...base,
      payee: whole,
      amount: 45n,
      hash: await run(whole, take(whole), give(45n)),
    },
    'partly taken back': {
      ...base,
      payee: part,
      amount: 45n,
      hash: await run(part, take(part), give(44n)),
    },
    'equal transfers': {
      ...base,
      payee,
      amount: 45n,
      hash: await run(equal, take(payee), take(payee)),
    },
  }
}

function sceneOf(world: PaidChain, route: Route | undefined): Scene {
  if (route === undefined) throw new Error('a route was not paid')
  return { world, otherToken: world.dollar, ...route }
}

async function payDirectly(world: PaidChain) {
  const { payer, payee, dollar, settlement, send } = world
  const base = { world, payer, payee, otherToken: dollar, reference: undefined }
  const memo = (at: number) => reference(100 + at)
  const worthless = await deployWorthless(world)
  const args = [memo(3), worthless, payee, FAKED] as const
  const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settleToken', args })
  const dollars = async (data: Hex) => ({ hash: await send({ to: dollar, data }), token: dollar })
  const memoed = { to: payee, amount: 41n, memo: memo(1) }
  const minted = { to: payee, amount: 43n, memo: memo(2) }
  return {
    direct: {
      ...base,
      hash: await send({ to: payee, value: 1_234n }),
      amount: 1_234n,
      token: undefined,
    },
    transfer: {
      ...base,
      ...(await dollars(encodeDollar('transfer', [payee, 42n]))),
      amount: 42n,
    },
    transferWithMemo: {
      ...base,
      ...(await dollars(calls.dollar('transferWithMemo', memoed))),
      amount: 41n,
      reference: memo(1),
    },
    mint: {
      ...base,
      ...(await dollars(calls.dollar('mintWithMemo', minted))),
      amount: 43n,
      reference: memo(2),
    },
    burn: {
      ...base,
      ...(await dollars(calls.burn(44n, memo(4)))),
      amount: 44n,
      reference: memo(4),
    },
    worthless: {
      ...base,
      hash: await send({ to: settlement, data }),
      amount: FAKED,
      token: worthless,
      reference: memo(3),
    },
  }
}

async function lie(world: PaidChain) {
  const { payer, payee, dollar, send } = world
  const faked = { world, payer, payee, amount: FAKED, otherToken: dollar, reference: undefined }
  const emit = async (...logs: Written[]) => {
    await writeLogs(world, { address: FAKE, logs, decimals: 6 })
    return { ...faked, hash: await send({ to: FAKE }), token: FAKE }
  }
  const order = { payer, payee, reference: reference(200), amount: FAKED }
  const settled = [settledLog({ ...order, token: dollar }), settledLog({ ...order, token: ZERO })]
  const real = transferLog(payer, payee, 1n)
  const nothing = encodeDollar('transferFrom', [payee, FAKE, 0n])
  return {
    'fake transfer': await emit(transferLog(payer, payee, FAKED)),
    'fake mint': await emit(transferLog(ZERO, payee, FAKED)),
    'fake settled': { ...(await emit(...settled)), reference: order.reference },
    'one unit beside a fake': await emit(real, transferLog(payer, payee, FAKED)),
    poisoning: {
      ...faked,
      hash: await send({ to: dollar, data: nothing }),
      payer: payee,
      payee: FAKE,
      amount: 0n,
      token: dollar,
    },
  }
}

async function fail(world: PaidChain) {
  const { payer, payee, dollar, settlement, chain, send } = world
  const base = { world, payer, payee, token: undefined, otherToken: dollar }
  const twice = { reference: reference(300), amount: 77n }
  const settle = { to: settlement, data: calls.settle(twice.reference, payee), value: 77n }
  await send(settle)
  // It reverts whoever is called.
  await chain.client.request({ method: 'anvil_setCode', params: [REFUSER, '0x5f5ffd'] } as never)
  const [paid, failed] = [reference(301), reference(302)]
  const items = [
    [paid, failed],
    [payee, REFUSER],
    [78n, 78n],
  ] as const
  const data = encodeFunctionData({
    abi: settlementAbi,
    functionName: 'settleBatchPartial',
    args: items,
  })
  const { ghost, by } = await takeNonce(world)
  const nonce = { ...base, reference: undefined }
  return {
    reverted: { ...base, ...twice, hash: await send(settle) },
    'partial failure': {
      ...base,
      hash: await send({ to: settlement, data, value: 156n }),
      amount: 78n,
      reference: paid,
      failed: { payee: REFUSER, reference: failed },
    },
    ghost: { ...nonce, hash: GHOST, amount: 1n },
    replaced: { ...nonce, hash: ghost, amount: 1n },
    taker: { ...nonce, hash: by, amount: 2n },
  }
}
