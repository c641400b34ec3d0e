import { readFileSync } from 'node:fs'

import { expect } from 'chai'
import * as fc from 'fast-check'
import type { Hex } from 'viem'

import { check } from '../../src/verify/check.ts'
import {
  formatQuittance,
  parseQuittance,
  type Quittance,
  type QuittanceBody,
} from '../../src/verify/quittance.ts'
import { anyText, byteChange, changeByte } from '../fixtures/chain/bytes.ts'

const SEED = 11

const text = readFileSync('test/data/quittance.json', 'utf8')
const bytes = new TextEncoder().encode(text)
const real = JSON.parse(text) as Quittance
const trustedBlockHash = real.block.hash

const hex = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((found): Hex => `0x${Buffer.from(found).toString('hex')}`)
const word = hex(32)
const proof = fc.array(fc.integer({ min: 1, max: 60 }).chain(hex), { maxLength: 4 })
const decimal = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String)
const order = fc
  .array(fc.tuple(fc.stringMatching(/^[a-zA-Z]\w{0,8}$/), anyText), {
    maxLength: 4,
  })
  // Facts stand in the order of their names.
  .map((facts) => Object.fromEntries(facts.toSorted(([a], [b]) => (a < b ? -1 : 1))))

/** Bodies of the form of the real one, with other values. */
const anyBody: fc.Arbitrary<QuittanceBody> = fc
  .record({ chainId: decimal, value: decimal, hash: word, header: hex(90), proof, order })
  .map((other) => {
    const { digest: _, ...body } = real
    const { chainId, value, hash, header } = other
    return {
      ...body,
      chainId,
      block: { ...body.block, hash, header },
      transaction: { ...body.transaction, value, proof: other.proof },
      receipt: { proof: other.proof },
      payment: { ...body.payment, amount: value, reference: hash },
      order: other.order,
    }
  })

/** The real one, with one byte of what proves it changed. */
const forgedBody: fc.Arbitrary<QuittanceBody> = fc
  .tuple(fc.constantFrom('header', 'transaction', 'receipt'), byteChange)
  .map(([part, change]) => {
    const { digest: _, ...body } = structuredClone(real)
    if (part === 'header') body.block.header = changeHex(body.block.header, change)
    if (part === 'transaction') body.transaction.proof = changeNode(body.transaction.proof, change)
    if (part === 'receipt') body.receipt.proof = changeNode(body.receipt.proof, change)
    return body
  })

describe('the file of a quittance', () => {
  it('holds as it is', async () => {
    expect((await check(bytes, { trustedBlockHash })).status).to.equal('holds')
  })

  it('reads back as it was written, whatever it says', () => {
    fc.assert(
      fc.property(anyBody, (body) => {
        const written = formatQuittance(body)
        const parsed = parseQuittance(written)
        if ('problem' in parsed) throw new Error(parsed.problem)
        const { digest, ...read } = parsed.quittance
        expect(read).to.deep.equal(body)
        expect(written).to.include(`"digest": "${digest}"`)
        expect(parseQuittance(new TextEncoder().encode(written))).to.deep.equal(parsed)
      }),
      { numRuns: 60, seed: SEED },
    )
  })

  it('is refused with any byte changed, left out, doubled or cut off, as malformed', async () => {
    const damage = fc.oneof(
      byteChange.map((change) => changeByte(bytes, change)),
      fc.nat({ max: bytes.length - 1 }).map((at) => spliced(at, 1)),
      fc.nat({ max: bytes.length - 1 }).map((at) => spliced(at, 0)),
      fc.nat({ max: bytes.length - 1 }).map((at) => bytes.slice(0, at)),
    )
    await fc.assert(
      fc.asyncProperty(damage, async (file) => {
        const verdict = await check(file, { trustedBlockHash })
        expect(verdict.status).to.equal('disagrees')
        expect(verdict.disagreements[0]?.kind).to.equal('malformed')
      }),
      { numRuns: 150, seed: SEED },
    )
  })

  it('proves nothing else, though its digest be right, and never crashes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyBody, forgedBody), async (body) => {
        const verdict = await check(formatQuittance(body), { trustedBlockHash })
        expect(verdict.status).to.equal('disagrees')
        expect(verdict.disagreements[0]?.kind).to.equal('tampered')
      }),
      { numRuns: 120, seed: SEED },
    )
  })

  it('is refused, and never a crash, when it is any bytes, text or JSON', async () => {
    const any = fc.oneof(fc.uint8Array(), anyText, fc.json())
    await fc.assert(
      fc.asyncProperty(any, async (file) => {
        const verdict = await check(file, { trustedBlockHash })
        expect(verdict.disagreements[0]?.kind).to.equal('malformed')
      }),
      { numRuns: 150, seed: SEED },
    )
  })
})

/** The file without a byte, or with one byte twice. */
function spliced(at: number, removed: 0 | 1): Uint8Array {
  return Uint8Array.from([...bytes.slice(0, at + 1 - removed), ...bytes.slice(at + removed)])
}

function changeNode(nodes: readonly Hex[], change: { at: number; by: number }): Hex[] {
  const at = Math.floor(change.at * nodes.length)
  return nodes.with(at, changeHex(nodes[at] ?? '0x', change))
}

function changeHex(node: Hex, change: { at: number; by: number }): Hex {
  const changed = changeByte(Buffer.from(node.slice(2), 'hex'), change)
  return `0x${Buffer.from(changed).toString('hex')}`
}
