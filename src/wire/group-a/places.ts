import { Type } from 'typebox'

import type { WireDestination } from '../../domain/ledger.ts'
import { RequestError, type FieldProblem } from '../errors.ts'

const text = (maxLength: number, example: string) =>
  Type.String({ minLength: 1, maxLength, examples: [example] })

/** What a wire needs to know of where it goes. */
export const WIRE_FIELDS = {
  name: text(140, 'Ada Lovelace'),
  addressLine1: text(140, '12 St James Square'),
  accountNumber: Type.String({ pattern: '^[0-9A-Za-z-]{1,34}$', examples: ['000123456789'] }),
  routingNumber: Type.String({ pattern: '^[0-9]{9}$', examples: ['021000021'] }),
  id: text(64, 'b3d9d2d5-4c12-4946-a09d-953e82fae2b0'),
}

/** Checked where it is used, since a wrong chain or address has a code of its own. */
export const ChainTextSchema = Type.String({ maxLength: 64, examples: ['ETH'] })
export const AddressTextSchema = Type.String({
  maxLength: 512,
  'x-documented': { maxLength: 42, pattern: '^0x[0-9a-fA-F]{40}$' },
  description: 'If its case is mixed, its checksum (EIP-55) is verified.',
  examples: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
})

type SideFields = Readonly<Record<string, unknown>>

/**
 * Which fields a side has follows from its type: refuses what is missing there and what has no
 * place there, all of it at once.
 */
export function requireFields(
  side: SideFields,
  options: { at: string; needed: readonly string[]; allowed?: readonly string[] },
): void {
  const { at, needed, allowed = [] } = options
  const problems: FieldProblem[] = []
  for (const name of needed) {
    if (side[name] !== undefined) continue
    const message = 'This field is required.'
    problems.push({ field: `${at}.${name}`, code: 'required', message })
  }
  for (const name of Object.keys(side)) {
    if (name === 'type' || needed.includes(name) || allowed.includes(name)) continue
    const message = `Leave this field out if the type is ${String(side['type'])}.`
    problems.push({ field: `${at}.${name}`, code: 'unknown_field', message })
  }
  const [first] = problems
  if (first === undefined) return
  throw new RequestError('invalid_request', `${first.field}: ${first.message}`, { problems })
}

/** A bank account is named by both numbers, or by none. */
export function requireBothNumbers(wire: Partial<WireDestination>): void {
  if ((wire.accountNumber === undefined) === (wire.routingNumber === undefined)) return
  const missing = wire.accountNumber === undefined ? 'accountNumber' : 'routingNumber'
  requireFields(wire, { at: 'destination', needed: [missing], allowed: Object.keys(wire) })
}

/** Only what is there; JSON has no undefined. */
export function wireBody(wire: Partial<WireDestination>) {
  const { name, addressLine1, accountNumber, routingNumber, id } = wire
  return {
    type: 'wire' as const,
    ...(name !== undefined && { name }),
    ...(addressLine1 !== undefined && { addressLine1 }),
    ...(accountNumber !== undefined && { accountNumber }),
    ...(routingNumber !== undefined && { routingNumber }),
    ...(id !== undefined && { id }),
  }
}
