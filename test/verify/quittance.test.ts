import { expect } from 'chai'
import { Check } from 'typebox/schema'
import type { Hex } from 'viem'

import { check } from '../../src/verify/check.ts'
import { prove } from '../../src/verify/prove.ts'
import { quittanceSchema } from '../../src/verify/quittance-schema.ts'
import {
  formatQuittance,
  MAX_QUITTANCE_BYTES,
  parseQuittance,
  type Quittance,
  type QuittanceBody,
} from '../../src/verify/quittance.ts'
import type { Verdict } from '../../src/verify/verdict.ts'
import { cpuTimeOf } from '../engines/bench/cpu.ts'
import {
  CHAIN_ID,
  calls,
  reference,
  startPaidChain,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { createRandom } from '../fixtures/random.ts'

describe('a quittance', () => {
  let world: PaidChain
  let hash: Hex
  let text: string
  let quittance: Quittance
  let trustedBlockHash: Hex

  before(async () => {
    world = await startPaidChain()
    const data = calls.settle(reference(1), world.payee)
    hash = await world.send({ to: world.settlement, data, value: 250n })
    const proof = await prove(
      { chainId: CHAIN_ID, hash, order: { id: 'TX1', name: 'Zoë 💶', reference: reference(1) } },
      { providers: [world.node('a')], confirmations: 1 },
    )
    text = proof.quittance ?? ''
    quittance = JSON.parse(text)
    trustedBlockHash = quittance.block.hash
  })
  after(() => world.chain.stop())

  it('proves its payment to someone who trusts only the hash of the block', async () => {
    const verdict = await check(text, { trustedBlockHash })
    expect(verdict.disagreements).to.deep.equal([])
    expect(verdict.status).to.equal('holds')
    expect(verdict.evidence?.payment).to.include({
      kind: 'settlement',
      reference: reference(1),
      payer: world.payer,
      payee: world.payee,
      amount: 250n,
    })
    expect(await check(new TextEncoder().encode(text), { trustedBlockHash })).to.deep.equal(verdict)
  })

  it('proves it to someone who asks a node for that one header', async () => {
    const trust = { providers: [world.node('any')], confirmations: 1 }
    expect((await check(text, trust)).status).to.equal('holds')
    const patient = await check(text, { ...trust, confirmations: 1000 })
    expect(patient.status).to.equal('pending')
    expect(patient.disagreements[0]?.kind).to.equal('not_final')
  })

  it('is open while nobody vouches for its block, and refused on another chain', async () => {
    const open = await check(text)
    expect(open.status).to.equal('pending')
    expect(open.disagreements[0]?.kind).to.equal('not_anchored')
    const other = await check(text, { trustedBlockHash: reference(7) })
    expect(other.disagreements[0]?.kind).to.equal('wrong_block')
    const elsewhere = await check(text, { trustedBlockHash, chainId: CHAIN_ID + 1 })
    expect(elsewhere.disagreements.map(({ kind }) => kind)).to.deep.equal(['wrong_chain'])
    const sepolia = {
      name: 'sepolia',
      request: ({ method, params }: { method: string; params?: readonly unknown[] }) =>
        method === 'eth_chainId'
          ? Promise.resolve('0xaa36a7')
          : world.node('x').request({ method, ...(params ? { params } : {}) }),
    }
    const asked = await check(text, { providers: [sepolia] })
    expect(asked.disagreements[0]?.kind).to.equal('wrong_chain')
  })

  it('is refused where a node knows another block at its place', async () => {
    const fork = await startPaidChain()
    try {
      await fork.mine(Number(quittance.block.number))
      const verdict = await check(text, { providers: [fork.node('fork')], confirmations: 1 })
      expect(verdict.disagreements.map(({ kind }) => kind)).to.deep.equal(['wrong_block'])
    } finally {
      await fork.chain.stop()
    }
  })

  it('is plain ASCII, whatever the order says', () => {
    expect(text).to.match(/^[\n -~]+$/)
    expect(quittance.order['name']).to.equal('Zoë 💶')
  })

  it('keeps its JSON Schema', () => {
    expect(Check(quittanceSchema, quittance)).to.equal(true)
    expect(Check(quittanceSchema, { ...quittance, more: 1 })).to.equal(false)
    expect(Check(quittanceSchema, { ...quittance, version: 2 })).to.equal(false)
  })

  it('is rejected with any single byte changed, by one bit or to something else', async () => {
    // The shortest quittance there is, since each of its bytes is changed sixteen times.
    const plain = await world.send({ to: world.payee, value: 1n })
    const options = { providers: [world.node('a')], confirmations: 1 }
    const proof = await prove({ chainId: CHAIN_ID, hash: plain }, options)
    const bytes = new TextEncoder().encode(proof.quittance)
    expect(bytes.length).to.be.greaterThan(2_000)
    const random = createRandom('the bytes of a quittance')
    let accepted = 0
    // Most changes end in an error of the parser, whose trace costs more than the check.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    for (let at = 0; at < bytes.length; at++) {
      const original = bytes[at] ?? 0
      for (const change of [...BITS, ...BITS.map(() => 1 + random.below(255))]) {
        bytes[at] = original ^ change
        if ('quittance' in parseQuittance(bytes)) accepted++
      }
      bytes[at] = original
    }
    Error.stackTraceLimit = stackTraceLimit
    expect(accepted).to.equal(0)
    expect('quittance' in parseQuittance(bytes)).to.equal(true)
  })

  it('is rejected with any part changed, though its digest be made anew', async () => {
    const { digest, ...body } = quittance
    expect(digest).to.have.length(66)
    let tried = 0
    for (const path of leavesOf(body)) {
      if (path[0] === 'order' && path[1] !== 'reference') continue
      for (const value of otherValues(read(body, path))) {
        const forged = structuredClone(body)
        write(forged, { path, value })
        const verdict = await check(formatQuittance(forged), { trustedBlockHash })
        expect(verdict.status, `${path.join('.')} = ${String(value)}`).to.equal('disagrees')
        tried++
      }
    }
    expect(tried).to.be.greaterThan(60)
  })

  it('is rejected with a digit of its proofs changed, though its digest be made anew', async () => {
    const { digest: _, ...body } = quittance
    for (const part of ['transaction', 'receipt'] as const) {
      const [node = '0x'] = body[part].proof
      for (let at = 2; at < node.length; at += 7) {
        const digit = node[at] === '0' ? '1' : '0'
        const forged = structuredClone(body)
        forged[part].proof[0] = `0x${node.slice(2, at)}${digit}${node.slice(at + 1)}`
        const verdict = await check(formatQuittance(forged), { trustedBlockHash })
        expect(verdict.status).to.equal('disagrees')
      }
    }
  })

  it('is refused truncated, oversized, nested deeply, or not as a quittance at all', async () => {
    const files = [
      ...Array.from({ length: 40 }, (_, at) => text.slice(0, Math.floor((text.length * at) / 40))),
      '['.repeat(1_000_000),
      `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`,
      ' '.repeat(MAX_QUITTANCE_BYTES + 1),
      '{}',
      'null',
      '[]',
      '"text"',
      '<html></html>',
      `${text} `,
      `\ufeff${text}`,
      text.replace('"version": 1', '"version": 2'),
      text.replace('"version": 1', '"version": 1.0'),
      text.replace('"version": 1,', '"version": 1, "version": 1,'),
      text.replaceAll('\n', '\r\n'),
      JSON.stringify(quittance),
    ]
    for (const file of files) {
      const verdict = await check(file, { trustedBlockHash })
      expect(verdict.disagreements[0]?.kind, file.slice(0, 40)).to.equal('malformed')
    }
    const binary = await check(Uint8Array.of(0xff, 0xfe, 0), { trustedBlockHash })
    expect(binary.disagreements[0]?.kind).to.equal('malformed')
  })

  it('is refused, and never an exception, when its header nests or never ends', async () => {
    const { digest: _, ...body } = quittance
    const forge = (header: Hex): Promise<Verdict> =>
      check(formatQuittance({ ...body, block: { ...body.block, header } }), { trustedBlockHash })
    const kinds = await Promise.all(
      [nestedList(8_000), `0xf91f40${'80'.repeat(8_000)}`, `0x${'00'.repeat(1_000_000)}`].map(
        async (header) => (await forge(header as Hex)).disagreements[0]?.kind,
      ),
    )
    expect(kinds).to.deep.equal(['tampered', 'tampered', 'malformed'])
  })

  it('is not checked against a number of confirmations that is none', async () => {
    for (const confirmations of [0, -1, 1.5, Number.NaN]) {
      const trust = { providers: [world.node('a')], confirmations }
      await expectFailure(() => check(text, trust), 'claim_invalid')
    }
  })

  it('carries no fact of an order that its payment contradicts', async () => {
    const { digest: _, ...body } = quittance
    const forged = formatQuittance({ ...body, order: { amount: '251', id: 'TX1' } })
    const verdict = await check(forged, { trustedBlockHash })
    expect(verdict.disagreements[0]?.kind).to.equal('tampered')
  })

  it('is not made of what is reverted, unknown, unfinished or ambiguous', async () => {
    const providers = [world.node('a')]
    const reverted = await world.send({
      to: world.settlement,
      data: calls.settle(reference(1), world.payee),
      value: 1n,
    })
    const pair = [3, 4].map(reference)
    const batch = calls.settleBatch(pair, [world.payee, world.payee], [1n, 1n])
    const two = await world.send({ to: world.settlement, data: batch, value: 2n })
    const kindOf = async (request: { hash: Hex; reference?: Hex }, confirmations: number) => {
      const made = await prove({ chainId: CHAIN_ID, ...request }, { providers, confirmations })
      const kind = made.verdict.disagreements[0]?.kind
      return made.quittance === undefined ? kind : 'made'
    }
    expect(await kindOf({ hash: reverted }, 1)).to.equal('reverted')
    expect(await kindOf({ hash: reference(9) }, 1)).to.equal('missing')
    expect(await kindOf({ hash }, 500)).to.equal('not_final')
    expect(await kindOf({ hash: two }, 1)).to.equal('ambiguous')
    expect(await kindOf({ hash: two, reference: reference(4) }, 1)).to.equal('made')
  })

  it('is made and checked in little time', async () => {
    const options = { providers: [world.node('a')], confirmations: 1 }
    const proving = await cpuTimeOf(() => prove({ chainId: CHAIN_ID, hash }, options))
    const checking = await cpuTimeOf(() => check(text, { trustedBlockHash }))
    expect(proving).to.be.lessThan(2_000)
    expect(checking).to.be.lessThan(500)
  })
})

const BITS = [1, 2, 4, 8, 16, 32, 64, 128]

/** A list in a list in a list, as RLP writes it. */
function nestedList(bytes: number): Hex {
  const parts = ['c0']
  for (let length = 1; length < bytes;) {
    const digits = length.toString(16)
    const size = digits.padStart(digits.length + (digits.length % 2), '0')
    const long = (0xf7 + size.length / 2).toString(16) + size
    const part = length < 56 ? (0xc0 + length).toString(16) : long
    parts.push(part)
    length += part.length / 2
  }
  return `0x${parts.toReversed().join('')}`
}

type Path = readonly (string | number)[]

function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

function otherValues(value: unknown): unknown[] {
  if (typeof value === 'number') return [value + 1, null, String(value), -1, 0.5, 1e30]
  if (value === null) return ['', `0x${'11'.repeat(20)}`, 0]
  const text = value as string
  const digit = text.endsWith('1') ? '2' : '1'
  return [`${text.slice(0, -1)}${digit}`, `${text}0`, null, '', text.slice(0, -2)]
}

function read(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value)
}

function write(body: QuittanceBody, { path, value }: { path: Path; value: unknown }): void {
  const parent = read(body, path.slice(0, -1)) as Record<string, unknown>
  parent[String(path.at(-1))] = value
}
