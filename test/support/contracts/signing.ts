import type { BaseWallet, TypedDataDomain } from 'ethers'

export type Intent = {
  orderReference: string
  operator: string
  payee: string
  token: string
  amount: bigint
  deadline: bigint
}

export type Authorization = {
  from: string
  to: string
  value: bigint
  validAfter: bigint
  validBefore: bigint
  nonce: string
}

export type Permit = {
  owner: string
  spender: string
  value: bigint
  nonce: bigint
  deadline: bigint
}

/** Of the ReferenceDollar, unless it names another token. */
type TokenDomain = Domain & { name?: string; version?: string }

type Domain = { chainId: bigint; verifyingContract: string }

const authorizationFields = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]

export function signIntent(signer: BaseWallet, domain: Domain, intent: Intent): Promise<string> {
  const types = {
    Intent: [
      { name: 'operator', type: 'address' },
      { name: 'orderReference', type: 'bytes32' },
      { name: 'payee', type: 'address' },
      { name: 'token', type: 'address' },
      { name: 'amount', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  }
  return signer.signTypedData(
    { name: 'Quittance Settlement', version: '1', ...domain },
    types,
    intent,
  )
}

export function signPermit(
  signer: BaseWallet,
  domain: TokenDomain,
  permit: Permit,
): Promise<string> {
  const types = {
    Permit: [
      { name: 'owner', type: 'address' },
      { name: 'spender', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  }
  return signer.signTypedData(tokenDomain(domain), types, permit)
}

export function signAuthorization(
  signer: BaseWallet,
  domain: TokenDomain,
  options: { kind: 'Receive' | 'Transfer'; authorization: Authorization },
): Promise<string> {
  return signer.signTypedData(
    tokenDomain(domain),
    { [`${options.kind}WithAuthorization`]: authorizationFields },
    options.authorization,
  )
}

function tokenDomain(domain: TokenDomain): TypedDataDomain {
  return { name: 'Reference Dollar', version: '1', ...domain }
}
