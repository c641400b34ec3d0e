import { expect } from 'chai'
import { keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import type { Log } from '../../src/chain/answers.ts'
import { topicOf, type EventName } from '../../src/chain/read/events.ts'
import type { Attempt, Hex, Order } from '../../src/domain/orders.ts'
import { outcomesOf } from '../../src/sender/outcome.ts'
import { paymentCall } from '../../src/sender/sign.ts'

const account = privateKeyToAccount(keccak256('0x07'))
const signer = account.address.toLowerCase() as Hex
const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n }
const [token, payee, contract, other] = ['aa', 'bb', 'cc', 'dd'].map(
  (byte): Hex => `0x${byte.repeat(20)}`,
) as [Hex, Hex, Hex, Hex]
const reference: Hex = `0x${'5e'.repeat(32)}`
const amount = 5n
const at = new Date(0)
const ORDER: Order = {
  id: 1n,
  subject: 'TX1',
  spender: 'user:1',
  chainId: 1,
  signer,
  reference,
  counter: 0n,
  route: 'mint',
  contract: token,
  token: undefined,
  payee,
  amount,
  gas: 100_000n,
  bundle: undefined,
  calldata: undefined,
  state: 'mined',
  errorCode: undefined,
  cancelCode: undefined,
  acceptedAt: at,
  updatedAt: at,
}

const word = (value: Hex | bigint): Hex => `0x${BigInt(value).toString(16).padStart(64, '0')}`
const log = (address: Hex, name: EventName, topics: Hex[], ...data: (Hex | bigint)[]): Log => ({
  address,
  topics: [topicOf(name), ...topics.map(word)],
  data: `0x${data.map((value) => word(value).slice(2)).join('')}`,
})

const ROUTES: Record<string, { order: Order; logs: Log[] }> = {
  mint: {
    order: ORDER,
    logs: [
      log(token, 'Mint', [signer, payee], amount),
      log(token, 'Transfer', ['0x00', payee], amount),
      log(token, 'TransferWithMemo', ['0x00', payee, reference], amount),
    ],
  },
  token: {
    order: { ...ORDER, route: 'token', contract, token },
    logs: [
      log(contract, 'Settled', [reference, signer, payee], token, amount),
      log(token, 'Transfer', [signer, payee], amount),
    ],
  },
}

async function decide(order: Order, logs: Log[], bundled: Order[] = []) {
  const { to, value, data } = paymentCall(order)
  const { chainId, gas } = order
  const call = { to, value, data, chainId, gas, ...fees, nonce: 0 }
  const raw = await account.signTransaction({ type: 'eip1559', ...call })
  const attempt = { kind: 'payment', hash: keccak256(raw), raw, nonce: 0n, fees } as Attempt
  const paid = { gasUsed: 1n, gasPrice: 1n, rollupFee: 0n }
  const block = { number: 1n, hash: reference, succeeded: true, ...paid }
  return outcomesOf(order, { bundled, attempt, seen: { block, logs } })
}

describe('what a final transaction means for its order', () => {
  const outcomeOf = async (order: Order, logs: Log[]) =>
    (await decide(order, logs))[0]?.outcome.state

  it('is a mismatch, and no refusal, where a bundle paid in another token', async () => {
    const one: Order = { ...ORDER, id: 2n, route: 'contract', contract }
    const bundle: Order = { ...one, id: 1n, route: 'open_bundle', calldata: '0x00' }
    const paid = log(contract, 'Settled', [reference, signer, payee], other, amount)
    const [, decided] = await decide(bundle, [paid], [one])
    expect(decided?.outcome).to.include({ errorCode: 'settlement_mismatch' })
  })

  for (const [route, { order, logs }] of Object.entries(ROUTES)) {
    it(`is completed by all events of a ${route}`, async () => {
      expect(await outcomeOf(order, logs)).to.equal('completed')
    })

    for (const [place, one] of logs.entries()) {
      const without = (instead: Log[]) => outcomeOf(order, logs.toSpliced(place, 1, ...instead))

      it(`is not paid without event ${place} of a ${route}, nor by one like it`, async () => {
        expect(await without([])).to.equal('failed')
        expect(await without([{ ...one, address: other }])).to.equal('failed')
        expect(await without([{ ...one, data: `0x${one.data.slice(2, -1)}7` }])).to.equal('failed')
        for (let topic = 0; topic < one.topics.length; topic++) {
          const topics = one.topics.with(topic, word(other))
          expect(await without([{ ...one, topics }]), String(topic)).to.equal('failed')
        }
      })
    }
  }
})
