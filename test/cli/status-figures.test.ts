import { createServer } from 'node:http'
import { join } from 'node:path'

import { expect } from 'chai'

import { birthOf } from '../../src/base/process.ts'
import { announceReady } from '../../src/base/ready.ts'

import { attentionOf, figuresOf } from '../../src/cli/operator-figures.ts'
import { runHere } from '../fixtures/commands.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const QUIET = `# HELP quittance_open_breaks Disagreements
# TYPE quittance_open_breaks gauge
quittance_open_breaks{kind="missing",chain="local"} 0
quittance_open_breaks{kind="missing",chain="base"} 0
quittance_open_breaks{kind="reorged",chain="local"} 0
quittance_signer_alerts{chain="local",kind="signer_funds_low"} 0
quittance_oldest_open_order_seconds{chain="base"} 2
quittance_oldest_open_order_seconds{chain="local"} 12.5
quittance_webhook_oldest_due_seconds 0
quittance_supply_drift_dollars{chain="local"} 0
quittance_supply_drift_dollars{chain="base"} 0
quittance_open_orders 4
`

describe('the figures of an operator', () => {
  it('ask for nothing where all is well', () => {
    const figures = figuresOf(QUIET)
    expect(figures.oldestOrderSeconds).to.equal(12.5)
    expect(attentionOf(figures)).to.deep.equal([])
  })

  const cases: ReadonlyArray<[string, string, string, string]> = [
    [
      'an open break',
      '{kind="missing",chain="base"} 0',
      '{kind="missing",chain="base"} 2',
      'Open breaks on base: missing 2. Read them with GET /api/breaks?state=open&chain=base.',
    ],
    [
      'a signer that is low',
      'kind="signer_funds_low"} 0',
      'kind="signer_funds_low"} 1',
      'Low signers on local: signer_funds_low 1. Run: quittance signers --chain local',
    ],
    ['an order that waits', '} 12.5', '} 601', 'open for 10 minutes'],
    ['a webhook that waits', 'due_seconds 0', 'due_seconds 7.3e+3', 'due for 121 minutes'],
    [
      'a drift below zero',
      'dollars{chain="base"} 0',
      'dollars{chain="base"} -0.000001',
      '-0.000001 USD',
    ],
    [
      'an alert of the sender',
      'open_orders 4',
      'sender_alerts{kind="reorg_after_final"} 1',
      'reorg_after_final 1',
    ],
  ]
  it('name no chain where there is one', () => {
    const one = QUIET.replaceAll('chain="base"', 'chain="local"')
    const low = one.replaceAll(/(kind="signer_funds_low"}) 0/g, '$1 1')
    expect(attentionOf(figuresOf(low))).to.deep.equal([
      'Low signers: signer_funds_low 1. Run: quittance signers',
    ])
  })

  for (const [what, was, is, sentence] of cases) {
    it(`name ${what}, and nothing else`, () => {
      const attention = attentionOf(figuresOf(QUIET.replace(was, is)))
      expect(attention).to.have.length(1)
      expect(attention[0]).to.include(sentence)
    })
  }
})

describe('quittance status', () => {
  const folder = temporaryFolder()
  let metrics = QUIET
  let metricsStatus = 200
  const server = createServer(({ url }, response) => {
    if (url === '/metrics') response.writeHead(metricsStatus).end(metrics)
    else response.end(JSON.stringify({ status: 'ready', parts: {} }))
  })

  before(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as { port: number }
    const statusUrl = `http://127.0.0.1:${port}`
    const { pid } = process
    const nowhere = { url: undefined, console: undefined, settlement: undefined }
    const chain = { chainId: 1, rpcUrl: '', stablecoin: undefined, environment: 'sandbox' }
    const facts = { ...nowhere, ...chain, statusUrl, pid, birth: birthOf(pid) }
    announceReady(join(folder.path, 'data'), facts)
  })
  after(() => {
    server.close()
    folder.remove()
  })

  const status = (...args: string[]) =>
    runHere(['status', ...args], { QUITTANCE_DATA: join(folder.path, 'data') })

  it('ends with 0 where there is nothing to do', async () => {
    const { code, stdout } = await status()
    expect(stdout).to.include('nothing for the operator to do')
    expect(code).to.equal(0)
  })

  it('ends with 1 while a break is open, and says which', async () => {
    metrics = QUIET.replace('chain="base"} 0', 'chain="base"} 2')
    const { code, stdout } = await status('--json')
    const answer = JSON.parse(stdout) as Record<string, unknown>
    expect(answer).to.have.nested.property('figures.open_breaks.missing', 2)
    expect(answer['attention']).to.have.length(1)
    expect(code).to.equal(1)
  })

  it('says how to see the figures where it may not read them', async () => {
    metricsStatus = 401
    const { code, stdout } = await status()
    expect(stdout).to.include('QUITTANCE_ADMIN_KEY')
    expect(code).to.equal(0)
  })
})
