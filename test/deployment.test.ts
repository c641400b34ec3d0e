import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { VARIABLES } from '../src/base/config.ts'
import { COMMANDS } from '../src/cli/commands.ts'

const FILES = readdirSync('deploy', { recursive: true, encoding: 'utf8' })
  .map((name) => join('deploy', name))
  .filter((name) => /\.\w+$|Containerfile$/.test(name))
const textOf = (path: string): string => readFileSync(path, 'utf8')

describe('the files to deploy with', () => {
  it('name only settings that the program reads', () => {
    for (const path of FILES) {
      // The names of alerts are no settings.
      const named = textOf(path).match(/\b(?:QUITTANCE_[A-Z_]+|[A-Z]+_ADDRESS)\b/g) ?? []
      const unknown = named.filter((name) => !Object.hasOwn(VARIABLES, name))
      expect(unknown, path).to.deep.equal([])
    }
  })

  it('start only commands that there are', () => {
    const commands = COMMANDS.map(({ name }) => name)
    const started = FILES.flatMap((path) => [
      ...textOf(path).matchAll(
        /(?:command: \[|args: \[|CMD \["|ExecStart=\S+ quittance )([a-z]+)[\]" \n]/g,
      ),
    ]).map(([, name = '']) => name)
    expect(started.filter((name) => name !== 'node')).to.include.members([
      'migrate',
      'serve',
      'work',
    ])
    for (const name of started) expect(['node', ...commands]).to.include(name)
  })

  it('build the image of files that there are, and start what the package starts', () => {
    const { bin } = JSON.parse(textOf('package.json')) as { bin: { quittance: string } }
    const file = textOf('deploy/Containerfile')
    expect(file).to.include(`ENTRYPOINT ["node", "${bin.quittance}"]`)
    const copied = [...file.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    )
    expect(copied.length).to.be.greaterThan(8)
    const allowed = textOf('deploy/Containerfile.dockerignore').match(/(?<=^!).*$/gm) ?? []
    for (const name of copied) {
      expect(existsSync(name), name).to.equal(true)
      expect(allowed).to.include(name)
    }
  })

  it('run as somebody else than root, on a file system that is not written to', () => {
    expect(textOf('deploy/Containerfile')).to.match(/^USER 10001:10001$/m)
    expect(textOf('deploy/compose/compose.yaml')).to.include('read_only: true')
    const helpers = textOf('deploy/helm/quittance/templates/_helpers.tpl')
    expect(helpers).to.include('runAsNonRoot: true').and.to.include('readOnlyRootFilesystem: true')
    for (const unit of ['serve', 'work']) {
      const text = textOf(`deploy/systemd/quittance-${unit}@.service`)
      expect(text).to.include('ProtectSystem=strict').and.to.include('User=quittance')
    }
  })

  it('ask for health where the image answers it', () => {
    const [, port] = /QUITTANCE_STATUS_PORT=(\d+)/.exec(textOf('deploy/Containerfile')) ?? []
    expect(textOf('deploy/Containerfile')).to.include(`http://127.0.0.1:${port}/healthz`)
    expect(textOf('deploy/helm/quittance/templates/processes.yaml')).to.include(
      `name: status, containerPort: ${port}`,
    )
    expect(textOf('deploy/helm/quittance/templates/network.yaml')).to.include(`port: ${port}`)
  })

  it('have a page for each alert', () => {
    const rules = textOf('deploy/monitoring/alerts.yml')
    const alerts = rules.match(/- alert: /g) ?? []
    const pages = [...rules.matchAll(/runbook: ([\w/.]+)#([\w-]+)/g)]
    expect(pages).to.have.length(alerts.length)
    for (const [, page = '', anchor] of pages) {
      const headings = [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        heading.toLowerCase().replaceAll(' ', '-'),
      )
      expect(headings).to.include(anchor)
    }
  })
})
