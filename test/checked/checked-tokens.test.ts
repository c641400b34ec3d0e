import { join } from 'node:path'

import { expect } from 'chai'

import { plainProvider } from '../../src/chain/rpc/provider.ts'
import { createPlatform, type PlatformOptions } from '../../src/checked/checked-platform.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { createWorld } from '../engines/sim/world.ts'
import { startRunningAppIn, type RunningApp } from '../fixtures/api/running-app.ts'
import { buildContracts } from '../fixtures/contracts/hardhat.ts'
import { callAs, placeMock } from '../fixtures/contracts/placed.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const QUICK = { pollMs: 50, timeoutMs: 20_000 }

describe('the platform with proof, in several tokens', () => {
  const folder = temporaryFolder()
  let app: RunningApp
  let open: Hex
  let mute: Hex

  before(async () => {
    await buildContracts()
    const data = join(folder.path, 'data')
    fillDataFolder(data)
    app = await startRunningAppIn(data)
    const world = createWorld(app.facts.rpcUrl)
    const file = 'HostileTokens.sol'
    open = await placeMock(world, { file, name: 'OpenToken' })
    mute = await placeMock(world, { file, name: 'NoReturnToken' })
    await app.stop()
    app = await startRunningAppIn(data, { QUITTANCE_TOKENS: `OPEN:${open},MUTE:${mute}` })
    const { address } = await connect().blockchain.balance()
    const running = createWorld(app.facts.rpcUrl)
    const [from] = (await running.rpc('eth_accounts')) as [Hex]
    for (const to of [open, mute]) {
      await callAs(running, from, {
        to,
        call: ['mint(address,uint256)', address as Hex, 10n ** 19n],
      })
    }
  })
  after(async () => {
    await app.stop()
    folder.remove()
  })

  const connect = (tokens: PlatformOptions['tokens'] = {}) =>
    createPlatform({
      tokens,
      baseUrl: app.url,
      apiKey: app.groupB.apiKey,
      providers: [plainProvider(app.facts.rpcUrl)],
      confirmations: 2,
    })
  const both = () => ({
    OPEN: { address: open, decimals: 18 },
    MUTE: { address: mute, decimals: 8 },
  })

  it('proves a payment in each by its symbol, to its last decimal', async () => {
    const platform = connect(both())
    const wanted = [
      { currency: 'OPEN', amount: '1.000000000000000001', token: open, units: 10n ** 18n + 1n },
      { currency: 'MUTE', amount: '2.00000001', token: mute, units: 200_000_001n },
    ]
    for (const { currency, amount, token, units } of wanted) {
      for (const use_contract of [false, true]) {
        const asked = { to_address: PAYEE, amount, currency, use_contract }
        const payment = await platform.blockchain.send({ ...asked, description: 'invoice 10' })
        const { verdict } = await payment.settled(QUICK)
        expect(verdict.status).to.equal('holds')
        expect(verdict.evidence?.payment).to.include({
          kind: use_contract ? 'settlement' : 'transfer',
          payee: PAYEE.toLowerCase(),
          token,
          amount: units,
        })
      }
    }
  })

  it('believes the token that stands under the symbol, and no other', async () => {
    const asked = { to_address: PAYEE, amount: '3', currency: 'OPEN' }
    const { send } = connect().blockchain
    const { transaction_id } = await send({ ...asked, description: 'invoice 11' })
    const settle = (tokens: PlatformOptions['tokens']) =>
      connect(tokens).blockchain.settled({ ...asked, transaction_id }, QUICK)
    await expectFailure(() => settle({ OPEN: both().MUTE }), 'chain_disagrees')
    await expectFailure(() => settle({ OPEN: { ...both().OPEN, decimals: 6 } }), 'chain_disagrees')
    await expectFailure(async () => settle({ MUTE: both().MUTE }), 'invalid_call')
    expect((await settle(both())).verdict.status).to.equal('holds')
  })
})
