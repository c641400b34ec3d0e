import {
  concatHex,
  decodeFunctionResult,
  encodeFunctionData,
  hashStruct,
  keccak256,
  parseAbi,
  stringToHex,
} from 'viem/utils'

import type { Hex } from '../../domain/orders.ts'
import type { PermitDomain } from '../../domain/tokens.ts'

/** Answers a call to the token; undefined where that reverts. */
export type CallToken = (data: Hex) => Promise<unknown>

/**
 * The domain that the token's permits are signed for, where they follow ERC-2612: the token has
 * nonces, and its separator is the hash of the name and the version that it returns. Undefined for
 * permits of another kind, such as DAI's.
 */
export async function readPermitDomain(
  call: CallToken,
  token: { address: Hex; chainId: number },
): Promise<PermitDomain | undefined> {
  const ask = (functionName: View, args?: readonly [Hex]) => answerOf(call, { functionName, args })
  const [separator, nonces, type, told, name, version] = await Promise.all([
    ask('DOMAIN_SEPARATOR'),
    ask('nonces', [token.address]),
    ask('PERMIT_TYPEHASH'),
    ask('eip712Domain'),
    ask('name'),
    ask('version'),
  ])
  if (typeof separator !== 'string' || nonces === undefined) return undefined
  if (type !== undefined && type !== PERMIT_TYPE) return undefined
  const domains = [
    ...(Array.isArray(told) ? [{ name: String(told[1]), version: String(told[2]) }] : []),
    ...(typeof name === 'string'
      ? [{ name, version: typeof version === 'string' ? version : '1' }]
      : []),
  ]
  const known = domains.find((domain) => separatorOf(domain, token) === separator)
  return known && { ...known, separator: separator as Hex }
}

function separatorOf(
  domain: { name: string; version: string },
  { address: verifyingContract, chainId }: { address: Hex; chainId: number },
): Hex {
  const data = { ...domain, chainId: BigInt(chainId), verifyingContract }
  return hashStruct({ data, primaryType: 'EIP712Domain', types: { EIP712Domain: DOMAIN } })
}

const DOMAIN = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]

const VIEWS = parseAbi([
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function PERMIT_TYPEHASH() view returns (bytes32)',
  'function nonces(address owner) view returns (uint256)',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
])

type View = (typeof VIEWS)[number]['name']

async function answerOf(
  call: CallToken,
  { functionName, args }: { functionName: View; args: readonly [Hex] | undefined },
): Promise<unknown> {
  const wanted = { abi: VIEWS, functionName, args } as Parameters<typeof encodeFunctionData>[0]
  const data = (await call(encodeFunctionData(wanted))) as Hex
  try {
    return decodeFunctionResult({ abi: VIEWS, functionName, data })
  } catch {
    return undefined
  }
}

/** Asks a token which permit of the holder comes next. */
export function permitNonceCall(holder: Hex): Hex {
  return encodeFunctionData({ abi: VIEWS, functionName: 'nonces', args: [holder] })
}

/** What a permit of ERC-2612 lets whom take of whose tokens. */
export type PermitTerms = {
  owner: Hex
  spender: Hex
  value: bigint
  nonce: bigint
  /** The last time of a block at which it holds. */
  deadline: bigint
}

/** What its owner signs the keccak256 of, which is the digest of EIP-712. */
export function permitPayload({ separator }: PermitDomain, terms: PermitTerms): Hex {
  const struct = hashStruct({ data: terms, primaryType: 'Permit', types: { Permit: PERMIT } })
  return concatHex(['0x1901', separator, struct])
}

const PERMIT = [
  { name: 'owner', type: 'address' },
  { name: 'spender', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint256' },
]

const PERMIT_TYPE = keccak256(
  stringToHex(`Permit(${PERMIT.map(({ name, type }) => `${type} ${name}`).join()})`),
)
