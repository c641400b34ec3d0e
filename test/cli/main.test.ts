import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { COMMANDS, commandsFor } from '../../src/cli/commands.ts'
import { runHere } from '../fixtures/commands.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { runToEnd } from '../fixtures/program.ts'
import { fillUnmigrated } from '../fixtures/store/prepared-data.ts'

describe('the command line', () => {
  it('teaches with --help, for the program and for each command', async () => {
    const help = await runToEnd(['--help'], {})
    expect(help.code).to.equal(0)
    for (const name of ['up', 'serve', 'work', 'migrate', 'status']) {
      expect(help.stdout).to.match(new RegExp(`^  ${name} `, 'm'))
      const own = await runHere([name, '--help'], {})
      expect(own).to.include({ code: 0, stderr: '' })
      expect(own.stdout).to.include('--json')
    }
  })

  it('names the settings of a first start in the help of up', async () => {
    const { stdout } = await runHere(['up', '--help'], {})
    for (const name of ['PORT', 'QUITTANCE_DATA', 'DATABASE_URL', 'ETH_RPC_URL']) {
      expect(stdout).to.match(new RegExp(`^  ${name} +\\S.*`, 'm'))
    }
    expect(stdout).to.include('docs/configuration.md')
  })

  it('loads the command that is called, and no other', async () => {
    for (const { name, description } of COMMANDS) {
      for (const args of [
        [name, '--json'],
        ['help', name],
      ]) {
        const commands = await commandsFor(args)
        expect(commands.map((one) => one.name())).to.deep.equal(COMMANDS.map((one) => one.name))
        // A command of nothing but its name has no options.
        const whole = commands.filter((one) => one.options.length + one.commands.length > 0)
        expect(whole.map((one) => one.name())).to.deep.equal([name])
        expect(whole[0]?.description()).to.equal(description)
      }
    }
  })

  it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(await runToEnd(['--version'], {})).to.include({ code: 0, stdout: `${version}\n` })
  })

  it('suggests the command that was meant, with exit code 2', async () => {
    const answer = await runToEnd(['stats'], {})
    expect(answer.code).to.equal(2)
    expect(answer.stderr).to.include('status')
  })

  it('ends with exit code 2 on an unknown option, and says where the known ones are', async () => {
    const answer = await runHere(['status', '--loud'], {})
    expect(answer.code).to.equal(2)
    expect(answer.stderr).to.include('--loud').and.to.include('--help')
  })

  it('gives an error as JSON where a program reads', async () => {
    const answer = await runHere(['status', '--json'], { PORT: 'x' })
    expect(answer.code).to.equal(2)
    expect(JSON.parse(answer.stdout)).to.have.nested.property('error.code', 'bad_configuration')
  })

  for (const role of ['serve', 'work']) {
    it(`says what ${role} shares with other processes`, async () => {
      const answer = await runToEnd([role, '--json'], {})
      expect(answer.code).to.equal(2)
      expect(answer.stderr).to.include('DATABASE_URL and ETH_RPC_URL')
    })
  }

  it('starts no work in the data folder of a serve, and says where to', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder.path, 'ready.json'), JSON.stringify({ pid: process.pid }))
    const away = { DATABASE_URL: 'postgres://127.0.0.1:9/none', ETH_RPC_URL: 'http://127.0.0.1:9' }
    const answer = await runToEnd(['work'], { ...away, QUITTANCE_DATA: folder.path })
    folder.remove()
    expect(answer.code).to.equal(2)
    expect(answer.stderr.trim().split('\n')).to.have.length(1)
    expect(answer.stderr).to.include('QUITTANCE_DATA')
  })

  it('migrates, and tells with a dry run that nothing is left to do', async () => {
    const folder = temporaryFolder()
    const env = { QUITTANCE_DATA: join(folder.path, 'data') }
    fillUnmigrated(env.QUITTANCE_DATA)
    expect(await runHere(['migrate', '--dry-run'], env)).to.include({ code: 1 })
    const migrated = await runToEnd(['migrate', '--json'], env)
    expect(JSON.parse(migrated.stdout).applied).to.include('0001_installation')
    const again = await runHere(['migrate', '--dry-run', '--json'], env)
    expect(again.code).to.equal(0)
    expect(JSON.parse(again.stdout)).to.have.property('pending').that.deep.equals([])
    folder.remove()
  })
})
