import { execFile, type ChildProcess } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

import { build } from 'esbuild'
import { expect } from 'chai'

import { findChromium, startBrowser } from '../fixtures/console/browser.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { blocksOf, createReader, type Reader } from '../fixtures/guides.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

/** In the order in which the index lists them: the first one starts the server. */
const PAGES = [
  ...readFileSync('docs/README.md', 'utf8').matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm),
]
  .map(([, name = '']) => `docs/${name}`)
  .filter((page) => blocksOf(readFileSync(page, 'utf8')).length > 0)

const HASH = /0x[0-9a-f]{64}/

type OpenApi = {
  paths: Record<string, Record<string, { summary: string; description?: string }>>
}

/** A reader goes through all pages and examples in one folder, beside one server. */
describe('the documentation', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let reader: Reader
  const children: ChildProcess[] = []

  before(() => {
    folder = temporaryFolder()
    const quick = { QUITTANCE_BLOCK_MS: '100', QUITTANCE_CONFIRMATIONS: '2' }
    reader = createReader(join(folder.path, 'reader'), quick)
    for (const data of ['.quittance', '.own']) fillDataFolder(join(reader.folder, data))
    cpSync('examples', join(reader.folder, 'examples'), { recursive: true })
    for (const name of ['hardhat', 'ethers', '@nomicfoundation']) {
      symlinkSync(resolve('node_modules', name), join(reader.folder, 'node_modules', name))
    }
  })
  after(async () => {
    for (const child of children) child.kill()
    await reader.stop()
    folder.remove()
  })

  describe('and the commands and programs on its pages', () => {
    it('begin with the page that starts the server', () => {
      expect(PAGES[0]).to.equal('docs/quick-start.md')
      expect(PAGES.length).to.be.greaterThan(7)
    })

    for (const page of PAGES) {
      it(`do what they say in ${page}`, async () => {
        await reader.follow(page)
      })
    }

    it('leave what the pages promise', () => {
      expect(reader.json('transaction.json')).to.include({ status: 'completed' })
      expect(reader.json('minted.json')).to.have.nested.property('data.status', 'complete')
      expect(reader.json('card-now.json')).to.include({ refunded_decimal: '15' })
      expect(reader.json('batch-now.json')).to.include({ status: 'completed' })
      expect(reader.json('report/report.json'))
        .to.have.property('summary')
        .that.includes({ records: 1, matched: 1, breaks: 0 })
      const paid = readFileSync(join(reader.folder, 'payout.result.csv'), 'utf8')
      expect(paid.match(/,completed,/g)).to.have.length(2)
    })

    it('list every operation that is served, with its sentence and its scope', async () => {
      const tables = readFileSync('docs/endpoints.md', 'utf8')
        .split(/^## Group (?=[AB])/m)
        .slice(1)
      for (const table of tables) {
        const group = table.charAt(0).toLowerCase()
        const answer = await fetchInTurn(`${reader.ready().url}/openapi/group-${group}.json`)
        const { paths } = (await answer.json()) as OpenApi
        const served = Object.entries(paths).flatMap(([path, operations]) =>
          Object.entries(operations).map(([method, { summary, description = '' }]) => {
            const [, scope = 'none'] = /Requires the scope (`\S+`)\./.exec(description) ?? []
            return `| \`${method.toUpperCase()} ${path}\` | ${summary} | ${scope} |`
          }),
        )
        expect(served.length).to.be.greaterThan(20)
        expect(table.match(/^\| `[A-Z]+ .*$/gm)).to.deep.equal(served)
      }
    })

    it('leave metrics, and the alerts and the dashboard name no others', () => {
      const metrics = readFileSync(join(reader.folder, 'metrics.txt'), 'utf8')
      const known = [...metrics.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(
        ([, name = '', type]) =>
          type === 'histogram' ? ['_bucket', '_count', '_sum'].map((end) => name + end) : [name],
      )
      const files = readdirSync('deploy/monitoring').map((name) => `deploy/monitoring/${name}`)
      const named = files.flatMap(
        (file) => readFileSync(file, 'utf8').match(/\bquittance_\w+/g) ?? [],
      )
      expect(named.length).to.be.greaterThan(30)
      expect(named.filter((name) => !known.includes(name))).to.deep.equal([])
    })
  })

  describe('and its examples', () => {
    const start = (
      file: string,
      args: readonly string[] = [],
      more: Record<string, string> = {},
    ) => {
      const { PATH, HOME } = process.env
      const env = { HOME, PATH: `${join(reader.folder, 'bin')}:${PATH}`, ...more }
      const { cwd = reader.folder, ...rest } = env as Record<string, string>
      const running = promisify(execFile)(file, args, { cwd, env: rest, timeout: 100_000 })
      children.push(running.child)
      return running
    }
    const run = async (example: string, ...args: string[]): Promise<string> => {
      const { stdout } = await start(process.execPath, [`examples/${example}/main.ts`, ...args])
      return stdout
    }

    it('are those of the index, each with ten lines about it', () => {
      const index = readFileSync('examples/README.md', 'utf8')
      const folders = readdirSync('examples').filter((name) => name !== 'README.md')
      const listed = [...index.matchAll(/^\| \[([\w-]+)\]/gm)].map(([, name]) => name)
      expect(listed).to.have.members(folders)
      for (const name of folders) {
        const lines = readFileSync(`examples/${name}/README.md`, 'utf8').split('\n').filter(Boolean)
        expect(lines.length, name).to.be.within(6, 10)
      }
    })

    it('pay, and wait until the chain agrees', async () => {
      expect(await run('pay-and-wait')).to.match(/^accepted TX\d{20}\nholds: 0\.01 /)
    })

    it('reconcile a file in a job, and fail where a record differs', async () => {
      const env = { ETH_RPC_URL: reader.ready().rpcUrl, QUITTANCE_CONFIRMATIONS: '2' }
      const { eth_transaction_hash: hash } = reader.json('transaction.json')
      const [columns = ''] = readFileSync('examples/reconcile-in-ci/records.csv', 'utf8').split(
        '\n',
      )
      const job = async (amount: string): Promise<number> => {
        const payee = '0x00000000000000000000000000000000000000AA'
        const row = `order-1,${String(hash)},${payee},${amount},ETH,completed`
        mkdirSync(join(reader.folder, amount))
        const records = join(amount, 'records.csv')
        writeFileSync(join(reader.folder, records), `${columns}\n${row}\n`)
        const args = ['examples/reconcile-in-ci/reconcile.sh', records, join(amount, 'report')]
        return start('sh', args, env).then(
          () => 0,
          (error: { code: number }) => error.code,
        )
      }
      expect(await job('0.1')).to.equal(0)
      expect(await job('0.2')).to.equal(1)
      const breaks = readFileSync(join(reader.folder, '0.2/report/breaks.csv'), 'utf8')
      expect(breaks).to.include('wrong_amount')
    })

    it('check a quittance in a browser, or at least build for one', async () => {
      const at = join(reader.folder, 'examples/verify-in-a-browser')
      const entryPoints = [join(at, 'main.ts')]
      const outfile = join(at, 'main.js')
      await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'browser' })
      expect(existsSync(outfile)).to.equal(true)
      const chromium = findChromium()
      if (chromium === undefined) return
      const browser = await startBrowser(chromium)
      const page = await browser.newPage()
      const html = readFileSync(join(at, 'index.html'), 'utf8').replace(/<script.*<\/script>/, '')
      await page.setContent(html)
      await page.addScriptTag({ path: outfile, type: 'module' })
      await page.fill('#node', reader.ready().rpcUrl)
      await page.setInputFiles('#file', join(reader.folder, 'quittance.json'))
      await until(
        async () => (await page.textContent('#answer'))?.startsWith('Proven: 0.1 ') ?? false,
      )
      await browser.close()
    })

    it('run the platform inside of a program', async () => {
      fillDataFolder(join(reader.folder, '.service'))
      const { stdout } = await start(process.execPath, ['examples/settlement-service/main.ts'], {
        QUITTANCE_BLOCK_MS: '100',
        QUITTANCE_CONFIRMATIONS: '2',
      })
      expect(
        stdout
          .replaceAll(/\d{20}/g, 'ID')
          .split('\n')
          .slice(1),
      ).to.deep.equal([
        'the wire is paid',
        'the payer continues at https://vouchers.example/TXID',
        'the voucher is completed',
        'the chain payment is completed',
        'refused: policy_refused',
        'stopped with 0 failures',
        '',
      ])
    })

    it('receive webhooks, and believe only those that are signed', async () => {
      const { child } = start(process.execPath, ['examples/webhook-receiver/main.ts'])
      let said = ''
      child.stdout?.on('data', (text: string) => (said += text))
      await until(async () => said.includes('received ping'))
      child.kill()
    })

    it('pay the rows of a file', async () => {
      const stdout = await run('payout-from-csv', 'examples/payout-from-csv/payout.csv')
      const paid = stdout.split('\n').filter((line) => line.includes(' completed '))
      expect(paid).to.have.length(3)
      for (const line of paid) expect(line).to.match(HASH)
    })

    it('deploy and settle with Hardhat and ethers', async () => {
      const cwd = join(reader.folder, 'examples/settle-with-hardhat')
      const hardhat = resolve('node_modules/hardhat/dist/src/cli.js')
      writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }')
      const { stdout } = await start(
        process.execPath,
        [hardhat, 'run', '--no-compile', 'main.ts'],
        {
          cwd,
        },
      )
      expect(stdout).to.include('paid 250000000000000000 wei')
      expect(stdout).to.include('settled: true\na second payment is refused')
    })
  })
})
