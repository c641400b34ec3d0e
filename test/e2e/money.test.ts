import { randomUUID } from 'node:crypto'
import { join } from 'node:path'

import { Chain, Circle, type Transfer } from '@circle-fin/circle-sdk'
import { expect } from 'chai'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { addressFrom } from '../engines/sim/world.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, type Program } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const USD = 'USD' as const

describe('money of Group A, in the running program', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let program: Program
  let facts: ReadyFacts
  let sdk: Circle

  const up = async () => {
    const QUITTANCE_DATA = join(folder.path, 'data')
    program = runProgram(['up'], { QUITTANCE_DATA, PORT: '0', QUITTANCE_BLOCK_MS: '100' })
    facts = await program.untilReady()
    sdk = new Circle(facts.groupA?.nestedApiKey ?? '', facts.url ?? '')
  }
  const end = async (signal: NodeJS.Signals) => {
    program.kill(signal)
    await program.ended
  }

  before(async () => {
    folder = temporaryFolder()
    fillDataFolder(join(folder.path, 'data'))
    await up()
  })
  after(async () => {
    await end('SIGTERM')
    folder.remove()
  })

  const send = async (path: string, key: string | undefined, body?: object) => {
    const answer = await fetchInTurn(`${facts.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as Record<string, unknown>
  }
  const flat = async (path: string, body?: object) =>
    (await send(path, facts.groupA?.apiKey, body))['data'] as { id: string; status: string }
  const balances = async () => {
    const { data } = await sdk.wallets.listWallets()
    return data.data?.map(({ balances }) => balances?.[0]?.amount).toReversed()
  }
  const holdsAt = async (supply: string) => {
    const solvency = await send('/api/solvency', facts.admin?.apiKey)
    return solvency['holds'] === true && solvency['supply'] === supply
  }

  it('serves what the published SDK reads and moves', async () => {
    expect((await sdk.health.ping()).data).to.deep.equal({ message: 'pong' })
    const masterWalletId = (await sdk.management.getAccountConfig()).data.data?.payments
      ?.masterWalletId
    const wallets = (await sdk.wallets.listWallets()).data.data ?? []
    expect(await balances()).to.deep.equal(['1000000.00', '250000.00'])
    const [second, main] = wallets
    expect(main).to.include({ walletId: masterWalletId, type: 'merchant' })
    const read = await sdk.wallets.getWallet(main?.walletId ?? '')
    expect(read.data.data).to.deep.equal(main)

    const idempotencyKey = randomUUID()
    const made = await sdk.transfers.createTransfer({
      idempotencyKey,
      source: { type: 'wallet', id: main?.walletId ?? '' },
      destination: { type: 'wallet', id: second?.walletId ?? '' },
      amount: { amount: '1.25', currency: USD },
    })
    const transfer = made.data.data as Transfer
    expect(transfer).to.deep.include({
      status: 'complete',
      amount: { amount: '1.25', currency: USD },
    })
    const found = await sdk.transfers.getTransfer(transfer.id, true)
    expect(found.data.data).to.deep.equal(transfer)
    const listed = await sdk.transfers.listTransfers(main?.walletId, undefined, second?.walletId)
    expect(listed.data.data).to.deep.equal([transfer])
    expect(await balances()).to.deep.equal(['999998.75', '250001.25'])
  })

  it('mints to a recipient by the SDK, though the program is killed meanwhile', async () => {
    const recipient = await sdk.addresses.createBusinessRecipientAddress({
      idempotencyKey: randomUUID(),
      address: addressFrom('e2e holder'),
      chain: Chain.Eth,
      currency: USD,
      description: 'Treasury',
    })
    expect(recipient.data.data).to.include({ status: 'active', chain: 'ETH' })
    const addressId = recipient.data.data?.id ?? ''
    const list = await sdk.addresses.listBusinessRecipientAddresses()
    expect(list.data.data).to.deep.equal([recipient.data.data])
    const made = await sdk.transfers.createBusinessTransfer({
      idempotencyKey: randomUUID(),
      destination: { type: 'verified_blockchain', addressId },
      amount: { amount: '50.00', currency: USD },
    })
    const mint = made.data.data as Transfer
    expect(mint.status).to.equal('pending')
    await end('SIGKILL')
    await up()
    await until(async () => {
      const { data } = await sdk.transfers.getBusinessTransfer(mint.id)
      return (data.data as Transfer).status === 'complete'
    })
    expect((await sdk.transfers.listBusinessTransfers()).data.data).to.have.length(1)
    await until(() => holdsAt('50.00'))
    expect(await balances()).to.deep.equal(['999948.75', '250001.25'])
  })

  it('pays a bank, and shows the payment to the SDK', async () => {
    const destination = { type: 'wire', name: 'Ada Lovelace', addressLine1: '12 St James Square' }
    const { id } = await flat('/v1/payments', { amount: '8.75', destination })
    await until(async () => (await flat(`/v1/payments/${id}`)).status === 'paid')
    const read = await sdk.payments.getPayment(id)
    expect(read.data.data).to.deep.include({ id, amount: { amount: '8.75', currency: USD } })
    expect((await sdk.payments.listPayments()).data.data).to.have.length(1)
    expect(await balances()).to.deep.equal(['999940.00', '250001.25'])
  })

  it('redeems what is burnt with the reference, though it is killed meanwhile', async () => {
    const made = await flat('/v1/transfers', {
      source: { type: 'blockchain', chain: 'ETH' },
      destination: { type: 'wire', name: 'Ada Lovelace' },
      amount: '20.00',
    })
    const { token, calldata } = (made as unknown as { redemption: Record<string, string> })
      .redemption
    const holder = addressFrom('e2e holder')
    const rpc = (method: string, ...params: unknown[]) =>
      callRpc({ url: facts.rpcUrl, method, params })
    await rpc('anvil_impersonateAccount', holder)
    await rpc('anvil_setBalance', holder, '0xde0b6b3a7640000')
    await rpc('eth_sendTransaction', { from: holder, to: token, data: calldata, gas: '0x7a120' })
    await until(async () => (await flat(`/v1/transfers/${made.id}`)).status !== 'pending')
    await end('SIGKILL')
    await up()
    await until(async () => (await flat(`/v1/transfers/${made.id}`)).status === 'complete')
    await until(() => holdsAt('30.00'))
    expect(await balances()).to.deep.equal(['999940.00', '250001.25'])
    const metrics = await (await fetchInTurn(`${facts.url}/metrics`)).text()
    expect(metrics).to.match(/quittance_supply_drift_dollars\{chain="local"\} 0\n/)
  })
})
