import type { Address, Hex } from 'viem'
import { concatHex, encodeAbiParameters } from 'viem/utils'

import { referenceDollarCode, settlementCode } from '../bindings/code.ts'
import { create2Address } from './create2.ts'
import { DeployError } from './errors.ts'

export type DeployableName = 'Settlement' | 'ReferenceDollar'

/** A contract as the deterministic deployer creates it. */
export type Deployable = {
  name: DeployableName
  address: Address
  initCode: Hex
  /** What follows the compiler's code in the init code. */
  constructorArguments: Hex
  runtime: RuntimeCode
}

export type RuntimeCode = {
  code: Hex
  /** Places, in bytes, that the constructor fills in on each chain. */
  immutables: readonly { start: number; length: number }[]
}

/** At the same address on every chain, independent of the deployer. */
export function settlement(): Deployable {
  return deployable('Settlement', { ...settlementCode, constructorArguments: '0x' })
}

/** At the same address on every chain for the same admin, who is written into the init code. */
export function referenceDollar(admin: Address): Deployable {
  return deployable('ReferenceDollar', {
    ...referenceDollarCode,
    constructorArguments: encodeAbiParameters([{ type: 'address' }], [admin]),
  })
}

/** What a person calls a contract that can be deployed alone. */
export function parseOnly(name: string): DeployableName {
  const found = Object.hasOwn(ALONE, name) ? ALONE[name] : undefined
  if (found !== undefined) return found
  throw new DeployError(
    `The contract ${JSON.stringify(name)} is unknown. Use ${Object.keys(ALONE).join(' or ')}.`,
    { code: 'deploy_only_unknown', details: { name } },
  )
}

const ALONE: Readonly<Record<string, DeployableName>> = {
  settlement: 'Settlement',
  stablecoin: 'ReferenceDollar',
}

/** Whether code on a chain is that of the contract, whatever its constructor filled in. */
export function isCodeOf(code: Hex, { runtime }: Deployable): boolean {
  return blank(code, runtime) === blank(runtime.code, runtime)
}

function deployable(
  name: DeployableName,
  parts: { creation: Hex; constructorArguments: Hex } & RuntimeCode,
): Deployable {
  const { creation, constructorArguments, code, immutables } = parts
  const initCode = concatHex([creation, constructorArguments])
  const runtime = { code, immutables }
  return { name, address: create2Address(initCode), initCode, constructorArguments, runtime }
}

function blank(code: Hex, { immutables }: RuntimeCode): string {
  let digits = code.toLowerCase()
  for (const { start, length } of immutables) {
    const [from, to] = [2 + start * 2, 2 + (start + length) * 2]
    digits = digits.slice(0, from) + '0'.repeat(length * 2) + digits.slice(to)
  }
  return digits
}
