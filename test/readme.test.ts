import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { expect } from 'chai'

import { temporaryFolder } from './fixtures/folder.ts'
import { runScript, runToEnd } from './fixtures/program.ts'
import { fillUnmigrated } from './fixtures/store/prepared-data.ts'

const readme = readFileSync('README.md', 'utf8')

describe('the README', () => {
  it('is short', () => {
    expect(readme.split('\n').length).to.be.at.most(250)
  })

  it('names only scripts and commands that exist', async () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const { stdout: help } = await runToEnd(['--help'], {})
    for (const typed of commandsOf(readme)) {
      const line = typed.replace(/^[A-Z_]+=\S+ /, '')
      const [, own] = /^npm run quittance -- ([a-z]+)/.exec(line) ?? []
      const [, script] = /^npm (?:run )?([a-z:]+)/.exec(line) ?? []
      if (own) expect(help).to.match(new RegExp(`^  ${own} `, 'm'))
      if (script) expect(scripts).to.have.property(script)
      if (line.startsWith('.')) accessSync(resolve(line), constants.X_OK)
    }
  })

  it('shows the session that npm start prints, and its curls work', async () => {
    const folder = temporaryFolder()
    const data = join(folder.path, 'data')
    fillUnmigrated(data)
    const program = runScript('start', { QUITTANCE_DATA: data, PORT: '0' })
    await program.untilReady()
    while (!program.output().stdout.includes('Ctrl-C')) {
      await new Promise((later) => setTimeout(later, 10))
    }
    const printed = program.output().stdout
    const [, url = '', header] = /curl (\S+)(?: -H '([^']+)')?/.exec(printed) ?? []
    const [name = 'accept', value = '*/*'] = header?.split(': ') ?? []
    const answer = await fetch(url, { headers: { [name]: value } })
    const [, curls = ''] = /```sh\n(curl \$URL[\s\S]*?)```/.exec(readme) ?? []
    const env = { ...process.env, URL: new URL(url).origin, KEY: value }
    const paid = execFileSync('sh', ['-c', curls], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    program.kill('SIGTERM')
    await program.ended
    folder.remove()

    expect(answer.status).to.equal(200)
    expect(JSON.parse(paid.toString())).to.include({ success: true, status: 'pending' })
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
