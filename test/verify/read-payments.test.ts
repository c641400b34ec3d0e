import { expect } from 'chai'
import { encodeAbiParameters, keccak256, pad, toEventSelector, toHex, type Hex } from 'viem'

import { settlementAbi, referenceDollarAbi } from '../../src/bindings/abis.ts'
import type { Log } from '../../src/chain/answers.ts'
import { decodeReceipt, encodeReceipt } from '../../src/chain/proof/receipt.ts'
import { topicOf } from '../../src/chain/read/events.ts'
import { isReference } from '../../src/verify/match.ts'
import { paymentsOf, type Payment } from '../../src/verify/read-payments.ts'
import { mainnetBlock } from '../fixtures/chain/mainnet.ts'

const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const TOKEN: Hex = `0x${'70'.repeat(20)}`
const ALICE: Hex = `0x${'aa'.repeat(20)}`
const BOB: Hex = `0x${'bb'.repeat(20)}`
const ISSUER: Hex = `0x${'cc'.repeat(20)}`
const ZERO: Hex = `0x${'00'.repeat(20)}`
const REFERENCE: Hex = `0x${'ab'.repeat(32)}`

describe('the payments of a receipt', () => {
  it('find and classify the one USDC mint or burn of the mainnet block', () => {
    const { receipts } = mainnetBlock()
    const found = receipts.flatMap((shown, index) =>
      paymentsIn(decodeReceipt(encodeReceipt(shown)).logs)
        .filter(({ token, kind }) => token === USDC && (kind === 'mint' || kind === 'burn'))
        .map((payment) => ({ index, ...payment })),
    )
    expect(found).to.have.length(1)
    const [mint] = found
    expect(mint).to.include({ kind: 'mint', beside: 'Mint', payer: null })
    expect(mint?.minter).to.match(/^0x[0-9a-f]{40}$/)
    expect(mint?.amount).to.be.a('bigint')
  })

  it('count no Transfer of 22 USDC logs that is none', () => {
    const { receipts } = mainnetBlock()
    const logs = receipts.flatMap(({ logs: all }) => all.filter(({ address }) => address === USDC))
    expect(logs).to.have.length(22)
    const transfers = logs.filter(({ topics }) => topics[0] === topicOf('Transfer'))
    const paid = receipts.flatMap((shown) =>
      paymentsIn(shown.logs as Log[]).filter(({ token }) => token === USDC),
    )
    expect(paid).to.have.length(transfers.length)
  })

  it('know the events of our contracts by the topics that the bindings have', () => {
    const events = [...settlementAbi, ...referenceDollarAbi].filter(({ type }) => type === 'event')
    for (const name of ['Settled', 'Transfer', 'TransferWithMemo', 'Mint', 'Burn'] as const) {
      const event = events.find((one) => 'name' in one && one.name === name)
      expect(toEventSelector(event as never)).to.equal(topicOf(name))
    }
  })

  it('bind a reference to the transfer beside it, in the way of each standard', () => {
    const transfer = transferLog(ALICE, BOB, 5n)
    const cases: ReadonlyArray<[Log[], Partial<Payment>]> = [
      [[transfer], { reference: null, rail: null }],
      [[transfer, memoLog(ALICE, BOB, 5n)], { reference: REFERENCE, rail: 'memo' }],
      [[transfer, memoLog(ALICE, BOB, 6n)], { reference: null, rail: null }],
      [[authorizationLog(ALICE), transfer], { reference: REFERENCE, rail: 'eip3009' }],
      [[authorizationLog(BOB), transfer], { reference: null, rail: null }],
      [[log('TransferReference', [REFERENCE]), transfer], { rail: 'erc7699' }],
      [[{ ...log('TransferReference', [REFERENCE]), address: ISSUER }, transfer], { rail: null }],
    ]
    for (const [logs, expected] of cases) {
      expect(paymentsIn(logs)).to.have.length(1)
      expect(paymentsIn(logs)[0]).to.include({ kind: 'transfer', amount: 5n, ...expected })
    }
  })

  it("believe a proxy of Request only beside the token's own transfer", () => {
    const data = encodeAbiParameters(
      [
        { type: 'address' },
        { type: 'address' },
        { type: 'uint256' },
        { type: 'uint256' },
        { type: 'address' },
      ],
      [TOKEN, BOB, 5n, 0n, ZERO],
    )
    const short: Hex = '0x0123456789abcdef'
    const proxy = {
      address: ISSUER,
      topics: [topicOf('TransferWithReferenceAndFee'), keccak256(short)],
      data,
    }
    expect(paymentsIn([proxy])).to.deep.equal([])
    const [, payment] = paymentsIn([transferLog(ALICE, BOB, 5n), proxy])
    expect(payment).to.include({ contract: ISSUER, token: TOKEN, payer: ALICE, rail: 'request' })
    expect(payment && isReference(payment, short)).to.equal(true)
    expect(payment && isReference(payment, '0x01')).to.equal(false)
  })

  it('tell mints, burns and seizures of each kind of token apart', () => {
    const burn = transferLog(ALICE, ZERO, 5n)
    const mint = transferLog(ZERO, BOB, 5n)
    const decreased = log('SupplyDecreased', [word(ALICE)], 5n)
    const wiped = log('FrozenAddressWiped', [word(ALICE)])
    const cases: ReadonlyArray<[Log[], Partial<Payment>]> = [
      [[log('Mint', [word(ISSUER), word(BOB)], 5n), mint], { beside: 'Mint', minter: ISSUER }],
      [[log('Mint', [word(ISSUER), word(BOB)], 6n), mint], { beside: null }],
      [[log('Burn', [word(ALICE)], 5n), burn], { kind: 'burn', beside: 'Burn' }],
      [[log('SupplyIncreased', [word(BOB)], 5n), mint], { beside: 'SupplyIncreased' }],
      [[decreased, burn], { kind: 'burn', beside: 'SupplyDecreased' }],
      [[wiped, decreased, burn], { kind: 'burn', beside: 'FrozenAddressWiped' }],
      [[burn, wiped, decreased], { kind: 'burn', beside: 'FrozenAddressWiped' }],
      [[log('Issue', [], 5n)], { kind: 'supply', payee: null, beside: 'Issue' }],
    ]
    for (const [logs, expected] of cases) expect(paymentsIn(logs)[0]).to.include(expected)
  })

  it('are not counted twice where the chain itself logs native coin (EIP-7708)', () => {
    const logger: Hex = `0x${'ff'.repeat(19)}fe`
    const native = { ...transferLog(ALICE, BOB, 5n), address: logger }
    expect(paymentsIn([native])).to.deep.equal([])
  })

  it('are none of a transaction that was reverted', () => {
    const transaction = { from: ALICE, to: BOB, value: 5n }
    const receipt = { succeeded: true, logs: [transferLog(ALICE, BOB, 5n)] }
    expect(paymentsOf({ transaction, receipt })).to.have.length(2)
    const reverted = { ...receipt, succeeded: false }
    expect(paymentsOf({ transaction, receipt: reverted })).to.deep.equal([])
  })

  it('are none where an event has another form', () => {
    const transfer = transferLog(ALICE, BOB, 5n)
    const wrong: Log[] = [
      { ...transfer, topics: transfer.topics.slice(0, 2) },
      { ...transfer, data: '0x' },
      { ...transfer, data: `${transfer.data}00` },
      { ...transfer, topics: [...transfer.topics.slice(0, 2), REFERENCE] },
      { ...transfer, topics: [] },
    ]
    for (const one of wrong) expect(paymentsIn([one])).to.deep.equal([])
  })
})

function paymentsIn(logs: readonly Log[]): Payment[] {
  const transaction = {
    hash: REFERENCE,
    type: 2,
    chainId: 1n,
    nonce: 0n,
    from: ALICE,
    to: TOKEN,
    value: 0n,
    input: '0x' as const,
  }
  const receipt = { type: 2, succeeded: true, cumulativeGasUsed: 0n, logs }
  return paymentsOf({ transaction, receipt })
}

function word(address: Hex): Hex {
  return pad(address)
}

function log(name: Parameters<typeof topicOf>[0], topics: Hex[], amount?: bigint): Log {
  const data = amount === undefined ? '0x' : toHex(amount, { size: 32 })
  return { address: TOKEN, topics: [topicOf(name), ...topics], data }
}

function transferLog(from: Hex, to: Hex, amount: bigint): Log {
  return log('Transfer', [word(from), word(to)], amount)
}

function memoLog(from: Hex, to: Hex, amount: bigint): Log {
  return log('TransferWithMemo', [word(from), word(to), REFERENCE], amount)
}

function authorizationLog(payer: Hex): Log {
  return log('AuthorizationUsed', [word(payer), REFERENCE])
}
