import type { Address, Client, Hex } from 'viem'
import { call, getBalance } from 'viem/actions'

import { readMintRight } from '../chain/read/mint-right.ts'
import { referenceDollar, settlement } from './deployables.ts'
import { ask } from './errors.ts'
import { codeAt } from './plan.ts'
import { wrapped } from './texts.ts'

/** What a platform cannot do on the chain yet, and what it lacks for it. */
export type Missing = { to: 'pay' | 'mint' | 'redeem'; what: string }

/** Asked after a deployment, so that nothing is missed for the first time by a customer. */
export async function findMissing(
  client: Client,
  of: { platform: Address | undefined; admin: Address; token: Address | undefined },
): Promise<Missing[]> {
  const { platform, admin } = of
  const own = referenceDollar(admin).address
  const token = of.token ?? ((await hasCode(client, own)) ? own : undefined)
  const missing: Missing[] = []
  if (!(await hasCode(client, settlement().address))) {
    missing.push({ to: 'pay', what: 'the settlement contract: deploy it with --only settlement' })
  }
  if (token === undefined) {
    const what = 'a dollar token: deploy ours with --only stablecoin, or set STABLECOIN_ADDRESS'
    missing.push({ to: 'mint', what }, { to: 'redeem', what })
  }
  if (platform === undefined) {
    const what = 'the signer: set QUITTANCE_SIGNER and run this again'
    return [...missing, { to: 'pay', what }, { to: 'mint', what }]
  }
  const balance = await ask('what the platform has', () =>
    getBalance(client, { address: platform }),
  )
  if (balance === 0n) {
    const what = `gas at ${platform}, which signs for the platform: send it coin of the chain`
    missing.push({ to: 'mint', what })
  }
  return token === undefined
    ? missing
    : [...missing, ...(await missingRight(client, { platform, token }))]
}

async function missingRight(
  client: Client,
  { platform, token }: { platform: Address; token: Address },
): Promise<Missing[]> {
  const read = async (data: Hex): Promise<Hex> =>
    (await call(client, { to: token, data })).data ?? '0x'
  const minter = platform.toLowerCase() as Hex
  const right = await readMintRight(read, minter).catch(() => undefined)
  if (right === undefined) {
    const what = `a token with memos: ${token} has no minters, so it has no mints or redeems`
    return [
      { to: 'mint', what },
      { to: 'redeem', what },
    ]
  }
  const grant = `--minter ${platform} --allowance AMOUNT, or its admin calls configureMinter`
  if (!right.isMinter) {
    return [{ to: 'mint', what: `the right to: ${platform} is not a minter of ${token}: ${grant}` }]
  }
  if (right.allowance > 0n) return []
  return [{ to: 'mint', what: `an allowance: ${platform} has used up its own: ${grant}` }]
}

async function hasCode(client: Client, address: Address): Promise<boolean> {
  return ((await codeAt(client, address)) ?? '0x') !== '0x'
}

/** For the person who has just deployed: what is missing, by what it is needed for. */
export function missingLines(missing: readonly Missing[]): string[] {
  if (missing.length === 0) return ['Nothing is missing to pay, to mint and to redeem.']
  const lines = (['pay', 'mint', 'redeem'] as const).flatMap((to) => {
    const lacking = missing.filter((one) => one.to === to).map(({ what }) => what)
    return (lacking.length === 0 ? ['nothing'] : lacking).flatMap((what, place) => {
      const head = (place === 0 ? `  To ${to}:` : '').padEnd(INDENT.length)
      return wrapped(head + what, INDENT)
    })
  })
  return ['What is missing:', ...lines]
}

const INDENT = ' '.repeat('  To redeem:  '.length)
