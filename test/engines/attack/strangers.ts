import { maxUint256, encodeFunctionData, erc20Abi } from 'viem'

import { referenceDollarAbi, settlementAbi } from '../../../src/bindings/abis.ts'
import { settlementAddress } from '../../../src/bindings/addresses.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import {
  addressFrom,
  ETHER,
  placeDollar,
  placeSettlement,
  toHex,
  type World,
} from '../sim/world.ts'
import { ask, waitUntil, wrongsIn } from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Platform } from './platform.ts'

const DUST = 100
const DONE_WITHIN_MS = 60_000
const PRICE = ETHER / 100n
const SETTLEMENT: Hex = `0x${settlementAddress.slice(2)}`

type Checkout = { id: string; key: string; url: string }
type Asked = { reference: Hex; amount: bigint; payee: Hex }

/** Whoever sees a checkout in the mempool pays next to nothing to it, before and after. */
export const strangers: Attack = {
  name: 'strangers',
  about: 'pays dust and worthless tokens to crypto checkouts, which the customer then pays',
  async run({ say }) {
    const platform = await startPlatform({
      payers: 1,
      async deploy(chain) {
        await placeSettlement(chain)
        const [minter] = (await chain.rpc('eth_accounts')) as [Hex]
        const dollar = await placeDollar(chain, { minter, allowance: 10n ** 15n })
        return { STABLECOIN_ADDRESS: dollar }
      },
    })
    try {
      const results: AttackResult[] = []
      for (const scheme of SCHEMES) {
        results.push(await disturb(platform, scheme))
        say(results.at(-1)!.outcome)
      }
      return results
    } finally {
      await platform.stop()
    }
  },
}

type Scheme = {
  tried: string
  count: number
  /** Whether it comes before the customer's payment, or after it. */
  when: 'before' | 'after'
  act: (chain: World, asked: Asked) => Promise<void>
}

const SCHEMES: readonly Scheme[] = [
  { tried: '1 wei before the customer pays', count: 1, when: 'before', act: payDust(1) },
  { tried: '1 wei after the customer has paid', count: 1, when: 'after', act: payDust(1) },
  { tried: `${DUST} payments of dust before`, count: DUST, when: 'before', act: payDust(DUST) },
  { tried: 'a unit of a worthless token before', count: 1, when: 'before', act: payWorthless },
]

/** The customer pays once and exactly what the page asked for, before any stranger came. */
async function disturb(platform: Platform, scheme: Scheme): Promise<AttackResult> {
  const { chain } = platform
  const checkout = await createCheckout(platform)
  const asked = await askedBy(checkout)
  if (scheme.when === 'before') await scheme.act(chain, asked)
  await settled(chain)
  await payInEther(chain, { ...asked, from: addressFrom(`customer of ${scheme.tried}`) })
  if (scheme.when === 'after') await scheme.act(chain, asked)
  const read = () => statusOf(platform, checkout)
  const doneMs = await waitUntil(
    async () => (await read())['status'] === 'completed',
    DONE_WITHIN_MS,
  )
  await settled(chain)
  const { status, gateway_status: word, arrivals = [] } = await read()
  return {
    tried: scheme.tried,
    count: scheme.count,
    outcome: `${String(status)} (${String(word)}), ${(arrivals as unknown[]).length} arrivals`,
    wrong: wrongsIn([
      [doneMs === undefined, `not completed within ${DONE_WITHIN_MS / 1000} s`],
      [status !== 'completed', `it is ${String(status)}`],
    ]),
  }
}

async function createCheckout({ url, payers }: Platform): Promise<Checkout> {
  const { key } = payers[0]!
  const body = { gateway_id: 2, amount: '0.01', currency: 'ETH', description: 'Two books' }
  const answer = await ask(url, { path: '/api/payments', key, body })
  const { transaction_id: id, charge_id: charge } = answer.body
  if (answer.status !== 201) throw new Error(`no checkout: ${answer.text}`)
  return { id: String(id), key, url: `${url}/checkout/${String(charge)}` }
}

/** What a wallet reads from the link on the page. */
async function askedBy({ url }: Checkout): Promise<Asked> {
  const page = await (await fetch(url)).text()
  const link = /ethereum:[^"]*bytes32=[^"]*/.exec(page)?.[0].replaceAll('&amp;', '&') ?? ''
  const [, reference] = /bytes32=(0x[0-9a-f]{64})/.exec(link) ?? []
  const [, payee] = /[?&]address=(0x[0-9a-fA-F]{40})/.exec(link) ?? []
  const [, amount] = /value=(\d+)/.exec(link) ?? []
  if (!reference || !payee || !amount) throw new Error(`the page asks for nothing: ${link}`)
  return { reference: reference as Hex, payee: payee as Hex, amount: BigInt(amount) }
}

async function statusOf(
  { url }: Platform,
  { id, key }: Checkout,
): Promise<Record<string, unknown>> {
  return (await ask(url, { path: `/api/payments/${id}/status`, key })).body
}

/** Until what was paid is final, and read. */
async function settled(chain: World): Promise<void> {
  await chain.mine(3)
  await new Promise((later) => setTimeout(later, 3_000))
}

async function payInEther(
  chain: World,
  { reference, payee, amount, from }: Asked & { from: Hex },
): Promise<void> {
  const args = [reference, payee] as const
  const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settle', args })
  await sendAs(chain, from, { to: SETTLEMENT, data, value: toHex(amount) })
}

function payDust(count: number): Scheme['act'] {
  return async (chain, asked) => {
    const stranger = addressFrom(`stranger ${asked.reference}`)
    // A payer settles a reference once, so each time it is another one.
    for (let paid = 0; paid < count; paid++) {
      const from = count === 1 ? stranger : addressFrom(`stranger ${asked.reference} ${paid}`)
      await payInEther(chain, { ...asked, amount: 1n, from })
    }
  }
}

async function payWorthless(chain: World, { reference, payee }: Asked): Promise<void> {
  const [minter] = (await chain.rpc('eth_accounts')) as [Hex]
  const token = await placeDollar(chain, { minter, allowance: 10n ** 15n })
  const from = addressFrom(`stranger with tokens ${reference}`)
  const mint = { abi: referenceDollarAbi, functionName: 'mintWithMemo' } as const
  const approve = { abi: erc20Abi, functionName: 'approve' } as const
  const settle = { abi: settlementAbi, functionName: 'settleToken' } as const
  const steps = [
    { by: minter, to: token, data: encodeFunctionData({ ...mint, args: [from, 9n, reference] }) },
    {
      by: from,
      to: token,
      data: encodeFunctionData({ ...approve, args: [SETTLEMENT, maxUint256] }),
    },
    {
      by: from,
      to: SETTLEMENT,
      data: encodeFunctionData({ ...settle, args: [reference, token, payee, 1n] }),
    },
  ]
  for (const { by, ...call } of steps) await sendAs(chain, by, call)
}

async function sendAs(
  { rpc, mine }: World,
  from: Hex,
  call: { to: Hex; data: Hex; value?: Hex },
): Promise<void> {
  await rpc('anvil_setBalance', [from, toHex(10n * ETHER + PRICE)])
  await rpc('anvil_impersonateAccount', [from])
  const hash = await rpc('eth_sendTransaction', [{ from, gas: '0x7a120', ...call }])
  await mine(1)
  const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as { status: Hex } | null
  if (receipt?.status !== '0x1')
    throw new Error(`a payment to the checkout failed: ${String(hash)}`)
}
