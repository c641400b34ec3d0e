import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { encodeFunctionData, type Hex } from 'viem'

import { reconcileSource, type ReconcileRequest } from '../../src/app/reconcile/source.ts'
import { BaseError } from '../../src/base/errors.ts'
import { settlementAbi } from '../../src/bindings/abis.ts'
import { readCurrencies } from '../../src/reconciler/sources/currencies.ts'
import { createFileSource } from '../../src/reconciler/sources/file.ts'
import { readRecord, type RecordFields } from '../../src/reconciler/sources/records.ts'
import type { TokenFacts } from '../../src/reconciler/sources/tokens.ts'
import { csvFile, nodesAt, removeFiles, textFile, type Row } from '../fixtures/books/reconcile.ts'
import { calls, reference, startPaidChain, type PaidChain } from '../fixtures/books/verify.ts'
import { settledLog, transferLog, writeLogs } from '../fixtures/chain/event-logger.ts'
import { deployWorthless } from '../fixtures/chain/worthless.ts'
import { runHere } from '../fixtures/commands.ts'
import { failureOf } from '../fixtures/errors.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const FAKE: Hex = `0x${'fa'.repeat(20)}`
const EIGHTEEN: Hex = `0x${'18'.repeat(20)}`
const ZERO: Hex = `0x${'00'.repeat(20)}`

describe('amounts in tokens that nobody vouches for', () => {
  let world: PaidChain
  let worthless: Hex
  let direct: Hex
  let minted: Hex
  let lies: Record<string, Hex>
  const folder = temporaryFolder()

  before(async () => {
    world = await startPaidChain()
    const { payer, payee, settlement, dollar, send } = world
    worthless = await deployWorthless(world)
    direct = await send({ to: payee, value: 10n ** 18n })
    const order = { to: payee, amount: 12_345_678n, memo: reference(1) }
    minted = await send({ to: dollar, data: calls.dollar('mintWithMemo', order) })
    const emit = async (logs: Parameters<typeof writeLogs>[1]['logs']): Promise<Hex> => {
      await writeLogs(world, { address: FAKE, logs, decimals: 6 })
      return send({ to: FAKE })
    }
    const args = [reference(2), worthless, payee, 25_000_000n] as const
    const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settleToken', args })
    const paid = { payer, payee, reference: reference(3), amount: 25_000_000n }
    lies = {
      'a fake Transfer': await emit([transferLog(payer, payee, 25_000_000n)]),
      'a fake Mint': await emit([transferLog(ZERO, payee, 25_000_000n)]),
      'one unit beside a fake amount': await emit([
        transferLog(payer, payee, 1n),
        transferLog(payer, payee, 25_000_000n),
      ]),
      'a worthless token through Settlement': await send({ to: settlement, data }),
      'a fake Settled': await emit([settledLog({ ...paid, token: dollar })]),
    }
    await writeLogs(world, {
      address: EIGHTEEN,
      logs: [transferLog(payer, payee, 10n ** 9n)],
      decimals: 18,
    })
    lies['a billionth'] = await send({ to: EIGHTEEN })
  })
  after(async () => {
    await world.chain.stop()
    folder.remove()
    removeFiles()
  })

  const row = (id: string, hash: Hex | undefined, more: Row): Row => {
    return { transaction_id: id, eth_transaction_hash: hash, ...more }
  }
  const dollars = (): Row[] =>
    Object.values(lies).map((hash, at) => row(`TX${at}`, hash, { amount: '25', currency: 'USD' }))
  const reconcile = async (rows: readonly Row[], more: Partial<ReconcileRequest> = {}) =>
    reconcileSource({
      contractsOn: () => ({ settlement: undefined, stablecoin: undefined }),
      source: createFileSource(csvFile(rows)),
      urls: [world.chain.url],
      confirmations: 1,
      graceMs: 3_600_000,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      ...more,
    })
  const reasonsOf = async (rows: readonly Row[], more: Partial<ReconcileRequest> = {}) => {
    const { not_compared: uncompared, summary } = await reconcile(rows, more)
    expect(summary.records).to.equal(
      summary.matched + summary.pending + summary.breaks + summary.not_compared,
    )
    return uncompared.map(({ transaction_id: id, reason }) => `${id} ${reason}`)
  }

  it('are not matched as dollars where no stablecoin is configured', async () => {
    const { summary, not_compared: uncompared } = await reconcile(dollars())
    expect(summary).to.include({ records: 6, matched: 0, breaks: 0, not_compared: 6 })
    expect(summary.not_compared_by_reason).to.deep.equal({ currency_unknown: 6 })
    expect(uncompared.map(({ line }) => line)).to.deep.equal([2, 3, 4, 5, 6, 7])
    expect(uncompared[0]?.problem).to.include('--token USD=ADDRESS')
  })

  it('are breaks where the dollar is named, as is the one unit beside a fake amount', async () => {
    const tokens = [{ address: world.dollar }]
    const { summary } = await reconcile(dollars(), { tokens })
    expect(summary).to.include({ records: 6, matched: 0, pending: 0, not_compared: 0 })
  })

  it('are not compared as euros or pounds, where 999,999.99 EUR matched 12.345678', async () => {
    const amount = '999999.99'
    const rows = ['EUR', 'GBP', 'JPY'].map((currency) =>
      row(currency, minted, { amount, currency }),
    )
    expect(await reasonsOf(rows, { tokens: [{ address: world.dollar }] })).to.deep.equal([
      'EUR currency_unknown',
      'GBP currency_unknown',
      'JPY currency_unknown',
    ])
  })

  it('are compared by the symbol of the dollar, and not by that of any other token', async () => {
    const { client } = world.chain
    const abi = [
      { type: 'function', name: 'symbol', stateMutability: 'view', inputs: [], outputs: STRING },
    ] as const
    const at = { address: world.dollar, abi, functionName: 'symbol' } as const
    const currency = await client.readContract(at)
    const rows = [
      row('TXa', minted, { amount: '12.345678', currency }),
      row('TXb', minted, { amount: '12.345677', currency }),
      row('TXc', lies['a worthless token through Settlement'], { amount: '25', currency }),
      row('TXd', lies['a fake Transfer'], { amount: '25', currency, token: FAKE }),
      row('TXe', minted, { amount: '12.345678', currency: 'USDC' }),
    ]
    const {
      summary,
      breaks,
      not_compared: uncompared,
    } = await reconcile(rows, {
      tokens: [{ address: world.dollar }],
    })
    expect(summary).to.include({ matched: 1, breaks: 2, not_compared: 2 })
    expect(breaks.map(({ transaction_id: id }) => id)).to.deep.equal(['TXb', 'TXc'])
    expect(uncompared.map(({ reason }) => reason)).to.deep.equal([
      'token_differs',
      'currency_unknown',
    ])
    const named = { tokens: [{ currency: 'USDC', address: world.dollar }] }
    expect((await reconcile(rows.slice(4), named)).summary).to.include({ matched: 1 })
    expect(await reasonsOf(rows.slice(0, 1), named)).to.deep.equal(['TXa currency_unknown'])
  })

  it('count in the token that the record names, with the decimals that it has', async () => {
    const rows = [
      row('TXa', lies['a billionth'], { amount: '0.000000001', token: EIGHTEEN }),
      row('TXb', lies['a billionth'], { amount: '1000', token: EIGHTEEN }),
      row('TXc', lies['a worthless token through Settlement'], { amount: '25', token: worthless }),
      row('TXd', lies['a worthless token through Settlement'], { token: worthless }),
      row('TXe', lies['a worthless token through Settlement'], { token: FAKE }),
      row('TXf', minted, { amount: '1.0000001', token: world.dollar }),
      row('TXg', minted, { amount: '1', token: ZERO }),
      row('TXh', minted, { amount: '12.345678', token: world.dollar, currency: 'USD' }),
    ]
    const { summary, breaks, not_compared: uncompared } = await reconcile(rows)
    expect(summary).to.include({ matched: 3, not_compared: 2 })
    expect(breaks.map(({ transaction_id: id, kind }) => `${id} ${kind}`)).to.deep.equal([
      'TXb wrong_amount',
      'TXe wrong_contract',
      'TXg wrong_contract',
    ])
    expect(uncompared.map(({ transaction_id: id, reason }) => `${id} ${reason}`)).to.deep.equal([
      'TXf amount_too_precise',
      'TXh currency_unknown',
    ])
  })

  it('of which a record says nothing do not stand for its payee or its reference', async () => {
    const { payee, dollar } = world
    const paid = lies['a worthless token through Settlement']
    const rows = [
      row('TXa', lies['a fake Transfer'], { to_address: payee }),
      row('TXb', paid, { to_address: payee, reference: reference(2) }),
      row('TXc', paid, { to_address: payee, reference: reference(5) }),
      row('TXd', lies['a fake Settled'], { to_address: payee, reference: reference(3) }),
      row('TXe', minted, { to_address: payee }),
    ]
    const tokens = [{ address: dollar }]
    const { breaks, not_compared: uncompared, summary } = await reconcile(rows, { tokens })
    expect(uncompared.map(({ transaction_id: id, reason }) => `${id} ${reason}`)).to.deep.equal([
      'TXa paid_in_unknown_token',
      'TXb paid_in_unknown_token',
    ])
    expect(breaks.map(({ transaction_id: id, kind }) => `${id} ${kind}`)).to.deep.equal([
      'TXc wrong_reference',
      'TXd wrong_contract',
    ])
    expect(summary).to.include({ matched: 1 })
  })

  it('are of ether only where native coin moved, whatever is logged', async () => {
    const tokens = [{ address: world.dollar }]
    const rows = [
      row('TXa', direct, { amount: '1' }),
      ...Object.values(lies).map((hash, at) => row(`TX${at}`, hash, { amount: '25' })),
      ...Object.values(lies).map((hash, at) => row(`TY${at}`, hash, { amount: '0.000000000025' })),
    ]
    const { summary } = await reconcile(rows, { tokens })
    expect(summary).to.include({ records: 13, matched: 1, pending: 0, not_compared: 0 })
  })

  it('are in the coin of the chain where they name it, or nothing', async () => {
    const { signal } = new AbortController()
    const currencies = await readCurrencies([], { coin: 'POL', nodes: [], signal })
    const price = async (more: RecordFields) => {
      const fields = { transaction_id: 'TXa', eth_transaction_hash: direct, amount: '1.5', ...more }
      const record = readRecord(fields, 2)
      if (typeof record === 'string') return record
      const told = { ...record, amount: { ...record.amount!, isPrice: true as const } }
      const [{ amount } = record] = await currencies.price([told], signal)
      return typeof amount?.unknown === 'object' ? amount.unknown.reason : amount
    }
    const pol = { text: '1.5', money: { units: 15n * 10n ** 17n, token: null } }
    expect(await price({ currency: 'POL' })).to.deep.equal({ ...pol, currency: 'POL' })
    expect(await price({})).to.deep.equal({ ...pol, currency: undefined })
    expect(await price({ currency: 'ETH' })).to.equal('currency_unknown')
    expect(await price({ currency: 'POL', token: FAKE })).to.equal('token_differs')
    const named = [{ currency: 'POL', address: FAKE }]
    const error = await failureOf(() => readCurrencies(named, { coin: 'POL', nodes: [], signal }))
    expect(error).to.include({ code: 'token_unreadable' })
  })

  it('wait for nodes that are silent about a token, and not for nodes that differ', async () => {
    const { signal } = new AbortController()
    const token = EIGHTEEN
    const record = readRecord(
      { ...row('TXa', lies['a billionth'], { amount: '1', token }) } as RecordFields,
      2,
    )
    if (typeof record === 'string') throw new Error(record)
    const price = async (...told: readonly (number | Error | null)[]) => {
      const nodes = told.map((answer) => ({
        ...nodesAt([world.chain.url])[0]!,
        tokens: async () => new Map([[token, tokenOf(answer)]]),
      }))
      const currencies = await readCurrencies([], { coin: 'ETH', nodes, signal })
      const [priced] = await currencies.price([record], signal)
      const { money, unknown } = priced?.amount ?? {}
      return typeof unknown === 'object' ? unknown.reason : (unknown ?? String(money?.units))
    }
    const silence = new Error('silent')
    expect(await price(6, 6)).to.equal('1000000')
    expect(await price(6, 6, 18)).to.equal('1000000')
    expect(await price(6, 18)).to.equal('token_unreadable')
    expect(await price(6, null)).to.equal('token_unreadable')
    expect(await price(null, null)).to.equal('token_unreadable')
    expect(await price(6, silence)).to.equal('provider_unavailable')
    expect(await price(silence)).to.equal('provider_unavailable')
  })

  it('are told before the run where the named token is none', async () => {
    const request = { tokens: [{ address: ZERO }] }
    const error = await failureOf(() => reconcile([row('TXa', minted, {})], request))
    expect(error).to.include({ code: 'token_unreadable' })
  })

  it('end the command with 1, and stand in each of its reports', async () => {
    const out = join(folder.path, 'out')
    const env = {
      ETH_RPC_URL: world.chain.url,
      QUITTANCE_CONFIRMATIONS: '1',
      QUITTANCE_DATA: join(folder.path, 'none'),
    }
    const hash = lies['a fake Transfer']
    const line = { transaction_id: '=TX1', eth_transaction_hash: hash, amount: 25, currency: 'USD' }
    const file = textFile(JSON.stringify(line))
    const told = await runHere(['reconcile', '--source', file, '--out', out], env)
    expect(told.code, told.stderr).to.equal(1)
    expect(told.stdout).to.match(/matched +0\n/)
    expect(told.stdout).to.match(/not compared +1\n/)
    expect(told.stdout).to.match(/line 1 \(=TX1\) is not compared: .*--token USD=ADDRESS/)
    const read = (name: string) => readFileSync(join(out, name), 'utf8')
    expect(read('breaks.csv')).to.include(`,not_compared,'=TX1,${hash},,,25,`)
    expect(read('report.html')).to.include('not compared 1').and.to.include('--token USD=ADDRESS')
    const report = JSON.parse(read('report.json'))
    expect(report.summary).to.include({ matched: 0, not_compared: 1, breaks: 0 })
    expect(report.not_compared[0]).to.include({ line: 1, reason: 'currency_unknown' })
    const args = ['reconcile', '--source', file, '--token', world.dollar, '--json']
    const named = await runHere(args, env)
    expect(named.code, named.stderr).to.equal(1)
    expect(JSON.parse(named.stdout).breaks).to.have.length(1)
  })
}).timeout(60_000)

function tokenOf(answer: number | Error | null): TokenFacts | null | BaseError {
  if (answer === null) return null
  if (answer instanceof Error) return new BaseError(answer.message, { code: 'silent' })
  return { decimals: answer, symbol: undefined }
}

const STRING = [{ type: 'string', name: '' }] as const
