import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { plainProvider } from '../../../src/chain/rpc/provider.ts'
import { createPlatform, type Platform } from '../../../src/checked/checked-platform.ts'
import { addressFrom } from '../../engines/sim/world.ts'
import { startRunningApp, type RunningApp } from '../../fixtures/api/running-app.ts'
import { runHere } from '../../fixtures/commands.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { runProgram } from '../../fixtures/program.ts'
import { until } from '../../fixtures/until.ts'

const HEAD = 'to_address,amount,currency,external_id,description'

describe('pay on the command line', () => {
  let app: RunningApp
  let platform: Platform
  let env: Record<string, string>
  const folder = temporaryFolder()

  before(async () => {
    app = await startRunningApp()
    env = { QUITTANCE_DATA: folder.path, QUITTANCE_PAY_KEY: app.groupB.apiKey }
    const providers = [plainProvider(app.facts.rpcUrl)]
    platform = createPlatform({ baseUrl: app.url, apiKey: app.groupB.apiKey, providers })
  })
  after(async () => {
    await app.stop()
    folder.remove()
  })

  const fileOf = (name: string, rows: readonly string[], head = HEAD): string => {
    const file = join(folder.path, name)
    writeFileSync(file, `${[head, ...rows].join('\n')}\n`)
    return file
  }
  const pay = (file: string, ...flags: string[]) =>
    runHere(['pay', file, '--url', app.url, ...flags], env)
  const payeeOf = (name: string) => addressFrom(`pay ${name}`)
  const balanceOf = async (address: string): Promise<bigint> => {
    const params = [address, 'latest']
    const answer = await plainProvider(app.facts.rpcUrl).request({
      method: 'eth_getBalance',
      params,
    })
    return BigInt(String(answer))
  }
  const resultsOf = (file: string): string[][] =>
    readFileSync(file.replace('.csv', '.result.csv'), 'utf8')
      .trim()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(','))
  const totalOf = async (): Promise<number> => (await platform.transactions.list()).total

  it('says what it would do, and does nothing before somebody agrees', async () => {
    const payee = payeeOf('asked')
    const file = fileOf('asked.csv', [
      `${payee},0.25,ETH,a-1,first`,
      `${payee},0.25,,,second`,
      `${payeeOf('other')},0.5,ETH,,`,
    ])
    const before = await totalOf()
    const dry = await pay(file, '--dry-run')
    expect(dry.code, dry.stderr).to.equal(0)
    expect(dry.stdout).to.match(/ETH +1 ETH in 3 payments to 2 addresses; you have [0-9.]+ ETH/)
    expect(dry.stdout).to.match(/fees +at most 0\.[0-9]+ ETH, in 1 transactions/)
    expect(dry.stdout).to.match(/without id +2 rows/)
    expect(dry.stdout).to.match(/repeated +line 3 repeat another row/)
    const asked = await pay(file)
    expect(asked.code).to.equal(2)
    expect(asked.stderr).to.contain('there is no terminal to confirm it')
    expect(await totalOf()).to.equal(before)
    expect(existsSync(file.replace('.csv', '.result.csv'))).to.equal(false)
  })

  it('pays each row once, however often it is run', async () => {
    const payees = Array.from({ length: 12 }, (_, place) => payeeOf(`each ${place}`))
    const rows = payees.map((payee, place) => `${payee},0.00${place + 1},ETH,,"row, ${place}"`)
    const file = fileOf('each.csv', rows)
    const first = await pay(file, '--yes', '--json')
    expect(first.code, first.stderr).to.equal(0)
    expect(JSON.parse(first.stdout)).to.include({ completed: 12, failed: 0, paid_before: 0 })
    const results = readFileSync(file.replace('.csv', '.result.csv'), 'utf8')
    expect(results.match(/,completed,/g)).to.have.length(12)
    expect(results.match(/,0x[0-9a-f]{64},/g)).to.have.length(12)
    const held = await Promise.all(payees.map(balanceOf))
    const again = await pay(file, '--yes', '--json')
    expect(JSON.parse(again.stdout)).to.include({ completed: 12, to_pay: 0, paid_before: 12 })
    // A row more: the others are known all the same.
    writeFileSync(file, readFileSync(file, 'utf8') + `${payeeOf('late')},0.5,ETH,,\n`)
    const longer = await pay(file, '--yes', '--json')
    expect(JSON.parse(longer.stdout)).to.include({ completed: 13, to_pay: 1, paid_before: 12 })
    expect(await Promise.all(payees.map(balanceOf))).to.deep.equal(held)
    expect(await balanceOf(payeeOf('late'))).to.equal(5n * 10n ** 17n)
  })

  it('goes on after a kill, and pays nothing twice', async () => {
    const rows = Array.from({ length: 1_500 }, (_, place) => {
      return `${payeeOf(`kill ${place}`)},0.0001,ETH,kill-${place},`
    })
    const file = fileOf('kill.csv', rows)
    const before = await totalOf()
    const program = runProgram(['pay', file, '--url', app.url, '--yes'], env)
    await until(async () => (await totalOf()) > before)
    program.kill('SIGKILL')
    await program.ended
    const { code, stdout, stderr } = await pay(file, '--yes', '--json')
    expect(code, stderr).to.equal(0)
    expect(JSON.parse(stdout)).to.include({ completed: 1_500, failed: 0 })
    expect(JSON.parse(stdout).paid_before).to.be.at.least(1_000)
    expect(await totalOf()).to.equal(before + 1_500)
    for (const place of [0, 999, 1_000, 1_499]) {
      expect(await balanceOf(payeeOf(`kill ${place}`))).to.equal(10n ** 14n)
    }
  })

  it('stops before the first payment at rows that cannot be read, by their lines', async () => {
    const before = await totalOf()
    const file = fileOf('wrong.csv', [
      `${payeeOf('wrong')},0.1,ETH,,`,
      '0x12,0.1,ETH,,',
      `${payeeOf('wrong')},-1,ETH,,`,
      `${payeeOf('wrong')},0.001,USD,,`,
      `${payeeOf('wrong')},1,DOGE,,`,
      `${payeeOf('wrong')},1,ETH,same,`,
      `${payeeOf('wrong')},1,ETH,same,`,
      `${payeeOf('wrong')},1`,
    ])
    const { code, stderr } = await pay(file, '--yes')
    expect(code).to.equal(2)
    for (const [line, what] of [
      [3, 'to_address'],
      [4, 'amount'],
      [5, 'amount'],
      [6, 'currency'],
      [8, 'external_id'],
      [9, 'cells'],
    ] as const) {
      expect(stderr).to.match(new RegExp(`line ${line}: .*${what}`))
    }
    const misspelt = fileOf('column.csv', [`${payeeOf('wrong')},1,x`], 'to_address,amount,external')
    expect((await pay(misspelt, '--yes')).stderr).to.contain('column external is unknown')
    expect(await totalOf()).to.equal(before)
  })

  it('ends with 1 where a payee refuses, and says which', async () => {
    const refusing = payeeOf('refusing')
    const code = [refusing, '0x5f5ffd']
    await plainProvider(app.facts.rpcUrl).request({ method: 'anvil_setCode', params: code })
    const file = fileOf('refusing.csv', [`${payeeOf('fine')},0.1,,,`, `${refusing},0.1,,,`])
    const answer = await pay(file, '--yes')
    expect(answer.code, answer.stderr).to.equal(1)
    expect(answer.stdout).to.match(/contracts +line 3 pay a contract/)
    expect(answer.stdout).to.contain('1 of 2 are paid')
    expect(answer.stdout).to.contain('payee_refused')
    expect(resultsOf(file).map((cells) => cells.slice(-2))).to.deep.equal([
      ['completed', ''],
      ['failed', 'payee_refused'],
    ])
    expect(await balanceOf(payeeOf('fine'))).to.equal(10n ** 17n)
  })

  it('refuses an external_id that stands for another payment, before it pays any', async () => {
    const file = fileOf('taken.csv', [`${payeeOf('taken')},0.1,ETH,taken-1,`])
    expect((await pay(file, '--yes')).code).to.equal(0)
    const other = fileOf('other.csv', [
      `${payeeOf('taken')},0.2,ETH,taken-1,`,
      `${payeeOf('taken')},0.1,ETH,taken-2,`,
    ])
    const { code, stderr } = await pay(other, '--yes')
    expect(code).to.equal(2)
    expect(stderr).to.contain('line 2: taken-1 belongs to another payment')
    expect(await balanceOf(payeeOf('taken'))).to.equal(10n ** 17n)
  })

  it('refuses what the address cannot pay in all', async () => {
    const { balance_eth: held } = await platform.blockchain.balance()
    const half = Math.ceil(Number(held) * 0.6)
    const rows = ['one', 'two'].map((name) => `${payeeOf(name)},${half},ETH,,`)
    const { code, stderr } = await pay(fileOf('poor.csv', rows), '--yes')
    expect(code).to.equal(2)
    expect(stderr).to.match(/lacks|has too little|at most/)
  })
})
