import { bytesToHex, concat, hexToBytes, keccak256, toRlp } from 'viem/utils'

import type { Hex } from '../hex.ts'
import { bytesOf, decodeRlp, EncodingError, encodeRlp, listOf, numberBytes } from './rlp.ts'
import type { RlpItem } from './rlp.ts'

/** A block's transactions or receipts as the Merkle trie whose root its header contains. */
export type ListTrie = {
  root: Hex
  /** The nodes from the root down to the value at this place, which prove it. */
  prove: (index: number) => Hex[]
}

/**
 * The trie of a list: the key of a value is the RLP of its place. Several payments of one block are
 * often verified one after the other, so the last few tries are kept, each with what it is of.
 */
export function buildListTrie(values: readonly Hex[]): ListTrie {
  const known = recent.find((one) => isSame(one.values, values))
  if (known !== undefined) return known.trie
  const trie = build(values)
  recent.unshift({ values: [...values], trie })
  recent.length = Math.min(recent.length, MAX_RECENT)
  return trie
}

const recent: Array<{ values: readonly Hex[]; trie: ListTrie }> = []
const MAX_RECENT = 4

function isSame(one: readonly Hex[], other: readonly Hex[]): boolean {
  return one.length === other.length && one.every((value, at) => value === other[at])
}

function build(values: readonly Hex[]): ListTrie {
  const entries = values.map((value, index) => ({ path: pathOf(index), value: hexToBytes(value) }))
  const root = entries.length === 0 ? undefined : buildNode(entries, 0)
  return {
    root: root === undefined ? keccak256('0x80') : keccak256(root.encoded),
    prove: (index) => (root === undefined ? [] : proofAlong(root, pathOf(index))),
  }
}

/**
 * The value that a proof shows to be at a place of the list with this root. A wrong, a superfluous
 * and a missing node throw alike: a proof has one form only.
 */
export function readProof(options: { root: Hex; index: number; proof: readonly Hex[] }): Hex {
  const { root, proof } = options
  const path = pathOf(options.index)
  let at = 0
  let used = 0
  let node = nodeByHash(root, proof[used++])
  for (let step = 0; step <= MAX_DEPTH; step++) {
    const [next, depth] = descend(node, { path, at })
    at = depth
    if (typeof next === 'object') {
      node = next
    } else if (at === path.length && node.length === 2) {
      if (used !== proof.length) throw new EncodingError('a proof with nodes to spare')
      return next
    } else {
      node = nodeByHash(bytesOf(next, HASH_BYTES), proof[used++])
    }
  }
  throw new EncodingError('a proof that is too deep')
}

const HASH_BYTES = 32
/** Places of a list have at most 9 bytes, so 18 nibbles. */
const MAX_DEPTH = 18
const BRANCHES = 16

type Entry = { path: readonly number[]; value: Uint8Array }
type Item = Uint8Array | Item[]
type Node = {
  encoded: Uint8Array
  item: Item
  child: (nibble: number) => Node | undefined
  /** How many nibbles lead from this node to its child. */
  length: number
}

function buildNode(entries: readonly Entry[], at: number): Node {
  const [first, last] = [entries[0], entries.at(-1)]
  if (first === undefined || last === undefined) throw new EncodingError('a trie of nothing')
  if (first === last) {
    return node([compact(first.path.slice(at), true), first.value], () => undefined, 0)
  }
  const shared = sharedLength(entries, at)
  if (shared > 0) {
    const child = buildNode(entries, at + shared)
    const prefix = compact(first.path.slice(at, at + shared), false)
    return node([prefix, embed(child)], () => child, shared)
  }
  const children = Array.from({ length: BRANCHES }, (_, nibble) => {
    const below = entries.filter(({ path }) => path[at] === nibble)
    return below.length === 0 ? undefined : buildNode(below, at + 1)
  })
  const items = children.map((child) => (child ? embed(child) : new Uint8Array()))
  return node([...items, new Uint8Array()], (nibble) => children[nibble], 1)
}

function node(item: Item, child: Node['child'], length: number): Node {
  return { encoded: toRlp(item as never, 'bytes'), item, child, length }
}

/** A parent contains a node of less than 32 bytes itself, and the hash of any other node. */
function embed({ encoded, item }: Node): Item {
  return encoded.length < HASH_BYTES ? item : keccak256(encoded, 'bytes')
}

function sharedLength(entries: readonly Entry[], at: number): number {
  const path = entries[0]?.path ?? []
  let length = 0
  while (
    at + length < path.length &&
    entries.every((entry) => entry.path[at + length] === path[at + length])
  ) {
    length++
  }
  return length
}

function proofAlong(root: Node, path: readonly number[]): Hex[] {
  const proof = [bytesToHex(root.encoded)]
  let at = 0
  for (let current: Node | undefined = root; current !== undefined;) {
    const next: Node | undefined = current.child(path[at] ?? 0)
    at += current.length
    if (next && next.encoded.length >= HASH_BYTES) proof.push(bytesToHex(next.encoded))
    current = next
  }
  return proof
}

function nodeByHash(hash: Hex, encoded: Hex | undefined): readonly RlpItem[] {
  if (encoded === undefined) throw new EncodingError('a proof that ends too early')
  if (keccak256(encoded) !== hash) throw new EncodingError('a proof that leads elsewhere')
  return listOf(decodeRlp(encoded))
}

/** One step down: what stands below the node on this path, and where on the path that is. */
function descend(
  current: readonly RlpItem[],
  { path, at }: { path: readonly number[]; at: number },
): [RlpItem, number] {
  if (current.length === BRANCHES + 1) {
    const child = current[path[at] ?? BRANCHES]
    if (child === undefined || child === '0x') throw new EncodingError('a proof of absence')
    return [child, at + 1]
  }
  const [prefix, child] = current
  if (current.length !== 2 || child === undefined) throw new EncodingError('no node of a trie')
  const { nibbles, isLeaf } = expand(bytesOf(prefix))
  if (nibbles.some((nibble, offset) => nibble !== path[at + offset])) {
    throw new EncodingError('a proof of absence')
  }
  const depth = at + nibbles.length
  if (isLeaf !== (depth === path.length)) throw new EncodingError('a proof of another place')
  return [child, depth]
}

function pathOf(index: number): number[] {
  return nibblesOf(hexToBytes(encodeRlp(numberBytes(BigInt(index)))))
}

function nibblesOf(bytes: Uint8Array): number[] {
  return [...bytes].flatMap((byte) => [byte >> 4, byte & 0xf])
}

/** The hex-prefix encoding: a flag for leaves, another for an odd number of nibbles. */
function compact(nibbles: readonly number[], isLeaf: boolean): Uint8Array {
  const flag = isLeaf ? 2 : 0
  const padded = nibbles.length % 2 === 0 ? [flag, 0, ...nibbles] : [flag + 1, ...nibbles]
  const bytes = new Uint8Array(padded.length / 2)
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = ((padded[2 * at] ?? 0) << 4) | (padded[2 * at + 1] ?? 0)
  }
  return bytes
}

function expand(prefix: Hex): { nibbles: number[]; isLeaf: boolean } {
  const [flag = 4, ...nibbles] = nibblesOf(hexToBytes(prefix))
  if (flag > 3 || (flag % 2 === 0 && nibbles.shift() !== 0)) {
    throw new EncodingError('a path that is not canonical')
  }
  return { nibbles, isLeaf: flag >= 2 }
}

/** The bytes of a typed transaction or receipt: the type, then the payload. */
export function typed(type: number, payload: Hex): Hex {
  return type === 0 ? payload : concat([bytesToHex(Uint8Array.of(type)), payload])
}

/** The type in front of a payload; the legacy form is a list and has none. */
export function untyped(bytes: Hex): { type: number; payload: Hex } {
  const first = Number.parseInt(bytes.slice(2, 4), 16)
  if (!(first < 0xff)) throw new EncodingError('an envelope without a type')
  if (first >= 0xc0) return { type: 0, payload: bytes }
  if (first === 0 || first > 0x7f) throw new EncodingError('an envelope of an unknown type')
  return { type: first, payload: `0x${bytes.slice(4)}` }
}
