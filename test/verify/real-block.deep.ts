import { expect } from 'chai'
import type { Hex } from 'viem'

import { plainProvider, type Provider } from '../../src/chain/rpc/provider.ts'
import { check } from '../../src/verify/check.ts'
import { prove } from '../../src/verify/prove.ts'
import { formatQuittance, type Quittance, type QuittanceBody } from '../../src/verify/quittance.ts'
import { verifyTransaction, type TransactionClaim } from '../../src/verify/verify-transaction.ts'
import { readRealBlock, startMainnetNode, type RealBlock } from '../fixtures/chain/mainnet-rlp.ts'
import type { ScriptedNode } from '../fixtures/chain/scripted-node.ts'
import { createRandom } from '../fixtures/random.ts'

const USDC: Hex = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const USDT: Hex = '0xdac17f958d2ee523a2206206994597c13d831ec7'
const STRANGER: Hex = `0x${'5a'.repeat(20)}`
const TRANSFER: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const HASH: Hex = '0x50985684c5e97edaf7a3f7e67ab3a74e21bcf18555ec7bfe4cef50f5464f63b5'

/** A transfer of USDC, as another reader than ours has it from the receipts. */
type Transfer = {
  hash: Hex
  /** The place of its event among the logs of its receipt. */
  log: number
  payer: Hex
  payee: Hex
  amount: bigint
}

describe('a real block served by a node', () => {
  let block: RealBlock
  let node: ScriptedNode
  let transfers: Transfer[]
  let options: { providers: Provider[]; confirmations: number }

  before(async () => {
    block = readRealBlock()
    node = await startMainnetNode(block)
    options = { providers: [plainProvider(node.url)], confirmations: 1 }
    transfers = transfersOf(block)
  })
  after(() => node.stop())

  it('shows 40 transfers of USDC that hold, and refuses five lies about each', async () => {
    const counts = { holds: 0, refused: 0 }
    for (const { hash, payer, payee, amount } of transfers) {
      const claim = { chainId: 1, hash, token: USDC, payer, payee, amount, blockHash: HASH }
      const verdict = await verifyTransaction(claim, options)
      expect(verdict.disagreements).to.deep.equal([])
      expect(verdict.evidence?.payment).to.include({ payer, payee, amount, token: USDC })
      counts.holds += 1
      for (const [kind, lie] of liesAbout(amount)) {
        const { status, disagreements } = await verifyTransaction({ ...claim, ...lie }, options)
        expect([status, disagreements[0]?.kind], `${hash} ${kind}`).to.deep.equal([
          'disagrees',
          kind,
        ])
        counts.refused += 1
      }
    }
    expect(counts).to.deep.equal({ holds: 40, refused: 200 })
  })

  it('says of both failed transactions that they were reverted', async () => {
    const failed = block.transactions.filter((_, at) => block.receipts[at]?.status === '0x0')
    for (const { hash } of failed) {
      const { status, disagreements } = await verifyTransaction({ chainId: 1, hash }, options)
      expect([status, disagreements[0]?.kind]).to.deep.equal(['disagrees', 'reverted'])
    }
    expect(failed).to.have.length(2)
  })

  it('proves each of the 40, and no quittance that was changed passes', async () => {
    const counts = { proven: 0, refused: 0 }
    const random = createRandom('the proofs of a real block')
    for (const { hash, log, payer, payee, amount } of transfers) {
      const { quittance = '' } = await prove({ chainId: 1, hash, log }, options)
      const verdict = await check(quittance, { trustedBlockHash: HASH })
      expect(verdict.status).to.equal('holds')
      expect(verdict.evidence?.payment).to.include({ log, payer, payee, amount, token: USDC })
      counts.proven += 1
      const { digest: _, ...body } = JSON.parse(quittance) as Quittance
      for (const [name, forge] of FORGERIES) {
        const forged = structuredClone(body)
        forge(forged, random.below)
        // The digest is made anew, so that only the proofs can tell.
        const { status } = await check(formatQuittance(forged), { trustedBlockHash: HASH })
        expect(status, `${hash} ${name}`).to.equal('disagrees')
        counts.refused += 1
      }
    }
    expect(counts).to.deep.equal({ proven: 40, refused: 400 })
  })
})

function transfersOf({ transactions, receipts }: RealBlock): Transfer[] {
  return receipts.flatMap(({ logs }, index) =>
    logs.flatMap(({ address, topics, data }, log) => {
      const [event, from, to] = topics
      const { hash } = transactions[index] ?? {}
      const isTransfer = address === USDC && event === TRANSFER && from && to && hash
      if (!isTransfer) return []
      const [payer, payee] = [addressIn(from), addressIn(to)]
      return [{ hash, log, payer, payee, amount: BigInt(data) }]
    }),
  )
}

function addressIn(topic: Hex): Hex {
  return `0x${topic.slice(26)}`
}

function liesAbout(amount: bigint): [kind: string, Partial<TransactionClaim>][] {
  return [
    ['wrong_amount', { amount: amount + 1n }],
    ['wrong_recipient', { payee: STRANGER }],
    ['wrong_payer', { payer: STRANGER }],
    ['wrong_token', { token: USDT }],
    ['reorged', { blockHash: `0x${'77'.repeat(32)}` }],
  ]
}

type Forge = (body: QuittanceBody, below: (limit: number) => number) => void

const FORGERIES: readonly [name: string, forge: Forge][] = [
  ['another amount', ({ payment }) => (payment.amount = `${BigInt(payment.amount) + 1n}`)],
  ['another payee', ({ payment }) => (payment.payee = STRANGER)],
  ['another payer', ({ payment }) => (payment.payer = STRANGER)],
  ['another token', ({ payment }) => (payment.token = USDT)],
  ['another contract', ({ payment }) => (payment.contract = USDT)],
  ['another log', ({ payment }) => (payment.log = (payment.log ?? 0) + 1)],
  ['another block', ({ block }) => (block.hash = `0x${'77'.repeat(32)}`)],
  ['a changed header', ({ block }, below) => (block.header = changed(block.header, below))],
  ['a changed proof of the transaction', ({ transaction }, below) => tamper(transaction, below)],
  ['a changed proof of the receipt', ({ receipt }, below) => tamper(receipt, below)],
]

function tamper(part: { proof: Hex[] }, below: (limit: number) => number): void {
  const at = below(part.proof.length)
  part.proof[at] = changed(part.proof[at] ?? '0x', below)
}

/** With one digit another. */
function changed(bytes: Hex, below: (limit: number) => number): Hex {
  const at = 2 + below(bytes.length - 2)
  const digit = (Number.parseInt(bytes[at] ?? '0', 16) + 1 + below(15)) % 16
  return `0x${bytes.slice(2, at)}${digit.toString(16)}${bytes.slice(at + 1)}`
}
