import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'
import { keccak256, stringToHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

import { createIdempotently } from '../../../../src/api/admission/idempotently.ts'
import { blockchainCreateEndpoint } from '../../../../src/api/endpoints/api/blockchain/transactions.ts'
import { connectWeb3Signer } from '../../../../src/chain/signers/web3signer.ts'
import { createAccounts } from '../../../../src/sender/accounts.ts'
import { recordMoves } from '../../../../src/sender/record.ts'
import { signOutside } from '../../../../src/sender/signers/sign-outside.ts'
import { addressFrom, ETHER, toHex } from '../../../engines/sim/world.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api } from '../../../fixtures/api/api.ts'
import { paymentsOf } from '../../../fixtures/books/payments.ts'
import { createBench, type Bench } from '../../../fixtures/books/sender-bench.ts'
import { startWeb3Signer, type Web3SignerServer } from '../../../fixtures/chain/web3signer.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'

const KEYS = ['platform', 'user'].map((name) => keccak256(stringToHex(`remote ${name}`)))

describe('a Web3Signer that hangs', () => {
  let bench: Bench
  let api: Api
  let remote: Web3SignerServer
  let isHanging = false

  before(async () => {
    bench = await createBench()
    const { db, signal, world } = bench
    const addresses = KEYS.map((key) => privateKeyToAddress(key))
    for (const one of addresses) await world.rpc('anvil_setBalance', [one, toHex(10n * ETHER)])
    remote = await startWeb3Signer({
      keys: KEYS,
      distort: (truth) => (isHanging ? new Promise(() => undefined) : truth),
    })
    const { url } = remote
    const signers = await connectWeb3Signer({ url, addresses, signal, timeoutMs: 500 })
    const accounts = await createAccounts({ signers, db })
    const sender = bench.sender({
      onMoved: recordMoves,
      pool: [accounts.platform],
      signers: {
        addresses: [accounts.platform],
        sign: signOutside((by, what) => accounts.sign(by, what, signal), accounts.isHere),
      },
    })
    const payments = paymentsOf(bench, sender, accounts.addressOf)
    const user = await makeUser(db)
    api = await startApi({
      endpoints: [blockchainCreateEndpoint({ chains: oneChain({ payments }), randomBytes })],
      hooks: {
        db,
        authenticate: () => Promise.resolve(callerOf(user)),
        idempotently: createIdempotently({ db }),
      },
    })
  })

  after(async () => {
    await api.close()
    await remote.stop()
    await bench.stop()
  })

  const pay = (key: string) =>
    api.send({
      method: 'POST',
      url: '/api/blockchain/transactions',
      headers: { 'idempotency-key': key },
      body: { to_address: addressFrom('remote'), amount: '0.5', description: 'an invoice' },
    })

  it('is answered 503, has nothing locked, and may be asked again with the same key', async () => {
    expect((await pay('first')).status).to.equal(201)
    isHanging = true
    const asked = remote.asked.length
    const paying = pay('second')
    while (remote.asked.length === asked) await new Promise((later) => setTimeout(later, 10))
    await sql`select 1 from nonce_lanes for update nowait`.execute(bench.db)
    const { status, body, headers } = await paying
    expect([status, body['code']]).to.deep.equal([503, 'signer_unavailable'])
    expect(headers['retry-after']).to.equal('1')
    isHanging = false
    const again = await pay('second')
    expect(again.status).to.equal(201)
    expect((await pay('second')).body).to.deep.equal(again.body)
  })

  it('is asked for many at one time, and each of them has its own nonce', async () => {
    const keys = Array.from({ length: 6 }, (_, place) => `many-${place}`)
    const answers = await Promise.all(keys.map(pay))
    expect(answers.map(({ status }) => status)).to.deep.equal(keys.map(() => 201))
    const { rows } = await sql<{ nonce: bigint }>`
      select nonce from lane_nonces order by nonce`.execute(bench.db)
    expect(rows.map(({ nonce }) => nonce)).to.deep.equal([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n])
  })
})
