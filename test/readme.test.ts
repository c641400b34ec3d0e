import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

import { BREAK_MEANINGS } from '../src/domain/breaks.ts'
import { temporaryFolder } from './fixtures/folder.ts'
import { fetchInTurn } from './fixtures/in-turn.ts'
import { runScript, runToEnd, type Program } from './fixtures/program.ts'
import { fillUnmigrated } from './fixtures/store/prepared-data.ts'
import { until } from './fixtures/until.ts'

const readme = readFileSync('README.md', 'utf8')

describe('the README', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let program: Program | undefined

  before(() => (folder = temporaryFolder()))
  after(async () => {
    program?.kill('SIGTERM')
    await program?.ended
    folder.remove()
  })

  it('has at most 250 lines', () => {
    expect(readme.trimEnd().split('\n').length).to.be.at.most(250)
  })

  it('has the gas that the snapshot has', () => {
    const { osaka } = JSON.parse(readFileSync('test/contracts/gas.json', 'utf8'))
    const names = ['native, dense reference', 'native batch of 100, per item, dense']
    const measured = names.map((name) =>
      Math.round(osaka.transactions[name]).toLocaleString('en-US'),
    )
    const shown = [...readme.matchAll(/(?:^\| gas [^|]*\| |costs )(\d\d,\d{3})\b/gm)]
    expect(shown.map(([, gas]) => gas)).to.deep.equal([...measured, ...measured])
  })

  it('counts the kinds of breaks that there are', () => {
    expect(readme).to.include(`one of ${Object.keys(BREAK_MEANINGS).length} kinds`)
  })

  for (const page of ['README.md', 'CONTRIBUTING.md']) {
    it(`names only scripts and commands that exist: ${page}`, async () => {
      const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
      const { stdout: help } = await runToEnd(['--help'], {})
      const commands = commandsOf(readFileSync(page, 'utf8'))
      expect(commands.length).to.be.greaterThan(5)
      for (const typed of commands) {
        const line = typed.replace(/^[A-Z_]+=\S+ /, '')
        const [, own] = /^npm run quittance -- ([a-z]+)/.exec(line) ?? []
        const [, script] = /^npm (?:run )?([a-z:]+)/.exec(line) ?? []
        if (own) expect(help).to.match(new RegExp(`^  ${own} `, 'm'))
        if (script) expect(scripts).to.have.property(script)
        if (line.startsWith('.')) accessSync(resolve(line), constants.X_OK)
      }
    })
  }

  it('shows the session that npm start prints, and its commands work', async () => {
    const data = join(folder.path, 'data')
    fillUnmigrated(data)
    program = runScript('start', { QUITTANCE_DATA: data, PORT: '0' })
    await program.untilReady()
    while (!program.output().stdout.includes('Ctrl-C')) {
      await new Promise((later) => setTimeout(later, 10))
    }
    const printed = program.output().stdout
    const [, url = '', header] = /curl (\S+)(?: -H '([^']+)')?/.exec(printed) ?? []
    const [name = 'accept', value = '*/*'] = header?.split(': ') ?? []
    const answer = await fetchInTurn(url, { headers: { [name]: value } })
    const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    const pays = blocks.find((block) => block.includes('| tee invoice-7.json'))!
    const reconciles = blocks.find((block) => block.includes('reconcile --source'))!
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, URL: new URL(url).origin, KEY: value, QUITTANCE_DATA: data }
    // What a reader has in the clone, the test has in a folder of its own.
    const type = async (block: string): Promise<string> => {
      const script = block
        .replaceAll('./.quittance/', `${data}/`)
        .replaceAll(/(?:\.\/)?\b(invoice-7|quittance)\.json/g, join(folder.path, '$1.json'))
      const running = promisify(execFile)('sh', ['-ec', script], { env })
      const { stdout } = await running.catch((error: { message: string; stdout?: string }) => {
        throw new Error(`${error.message}${error.stdout}`)
      })
      return stdout
    }
    const paid = JSON.parse(await type(pays))
    const reads = async (): Promise<{ status: string }> =>
      (await fetchInTurn(`${env.URL}/api/transactions/${paid.transaction_id}`, {
        headers: { [name]: value },
      }).then((read) => read.json())) as { status: string }
    await until(async () => (await reads()).status === 'completed')
    const said = await type(reconciles)

    expect(answer.status).to.equal(200)
    expect(paid).to.include({ success: true, status: 'pending' })
    expect(said)
      .to.match(/^ +matched +1$/m)
      .and.to.match(/^It holds\.$/m)
    const [, shown = ''] = /```text\n\$ npm start\n([\s\S]*?)```/.exec(readme) ?? []
    expect(normalise(printed)).to.equal(normalise(shown))
  })
})

describe('the README of each folder of src', () => {
  const folders = readdirSync('src', { withFileTypes: true }).filter((one) => one.isDirectory())

  for (const { name } of folders) {
    it(`is there for ${name}, and names only files that are`, () => {
      const text = readFileSync(join('src', name, 'README.md'), 'utf8')
      const named = [...text.matchAll(/`((?:src\/)?[\w./-]+(?:\.ts|\/))`/g)].map(([, file]) => file)
      for (const file of named) {
        const path = file?.startsWith('src/') ? file : join('src', name, file ?? '')
        expect(existsSync(path) || existsSync(file ?? ''), `${name}: ${file}`).to.equal(true)
      }
    })
  }
})

/** The lines of the blocks that a reader would type. */
function commandsOf(text: string): string[] {
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap((match) =>
    (match[1] ?? '').trim().split('\n'),
  )
}

/** Times, ports, folders and keys differ from start to start; two parts may finish in any order. */
function normalise(session: string): string {
  return session
    .replaceAll(/ +\d+\.\d s$/gm, ' N s')
    .replaceAll(/\d+\.\d s/g, 'N s')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/(sk_sandbox_)\w+/g, '$1KEY')
    .replaceAll(/(password ).*/g, '$1PASSWORD')
    .replaceAll(/\S*(\/data|\/?\.quittance)$/gm, 'FOLDER')
    .replaceAll(/in \S*(\/data|\.quittance) +/g, 'in FOLDER ')
    .trim()
    .split('\n')
    .toSorted()
    .join('\n')
}
