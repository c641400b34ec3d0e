import type { Screen } from '../../api/admission/screen.ts'
import { BaseError } from '../../base/errors.ts'
import { isBuiltInGateway } from '../../base/parties.ts'
import { INSTITUTION_KINDS, type RailsConfig } from '../../base/rails-config.ts'
import type { OwnSigners } from '../../chain/signers/own-signers.ts'
import { isCurrency } from '../../domain/money.ts'
import type { OwnBank } from '../../rails/own/bank.ts'
import type { OwnGateway } from '../../rails/own/gateway.ts'

/**
 * What another program adds to the platform. All processes on one database are given the same.
 *
 * @example
 *   ```ts
 *   import { createLogger, parseConfig, startApp, type OwnParts } from 'quittance/server'
 *
 *   export const own: OwnParts = {
 *     screen: async ({ amount }) =>
 *       Number(amount) < 10_000 ? { allowed: true } : { allowed: false, rule: 'too_large' },
 *   }
 *   const config = parseConfig(process.env)
 *   await startApp({ config, role: 'up', logger: createLogger({ level: 'info' }), ...own })
 *   ```
 */
export type OwnParts = {
  /** Next to those of QUITTANCE_INSTITUTIONS. */
  banks?: readonly OwnBank[] | undefined
  /** Next to those of QUITTANCE_GATEWAYS. */
  gateways?: readonly OwnGateway[] | undefined
  /** In place of QUITTANCE_SIGNER. */
  signers?: OwnSigners | undefined
  /** Absent, everything is allowed that the limits allow. */
  screen?: Screen | undefined
}

/** The one that sends the wires of Group A in place of the configured one. */
export function defaultBankOf({ banks = [] }: OwnParts): OwnBank | undefined {
  return banks.find(({ isDefault }) => isDefault === true)
}

/** Refuses parts that do not fit the settings or each other, before anything is started. */
export function requireFitting(
  { banks = [], gateways = [], signers, screen }: OwnParts,
  { rails, signer }: { rails: RailsConfig; signer: string | undefined },
): void {
  requireBanks(banks, rails)
  requireGateways(gateways, rails)
  if (signers !== undefined && signer !== undefined) {
    throw wrong('`signers` and QUITTANCE_SIGNER both say who signs. Use one of them.')
  }
  if (!['undefined', 'function'].includes(typeof screen)) {
    throw wrong('`screen` is not a function. Correct it, or leave it out.')
  }
}

function requireBanks(banks: readonly OwnBank[], { institutions }: RailsConfig): void {
  const names = new Set(institutions.flatMap(({ party }) => party ?? []))
  const ids = new Map(institutions.map(({ id, kind }) => [id, kind as string]))
  for (const bank of banks) {
    const what = `The bank ${JSON.stringify(bank.name)}`
    requireForm(bank.name, NAME, `${what} needs a name such as "house"`)
    for (const name of ['send', 'find'] as const) requireFunction(what, name, bank)
    if (!Array.isArray(bank.institutions)) {
      throw wrong(`${what} has no list of institutions. Add it; it may be empty.`)
    }
    if (names.has(bank.name)) throw wrong(`${what} has a name that is taken. Give it another.`)
    names.add(bank.name)
    for (const { id, kind } of bank.institutions) {
      if (!INSTITUTION_KINDS.includes(kind)) {
        throw wrong(`${what} has an institution that is neither ach nor wire. Correct its kind.`)
      }
      requireFree(ids, { id, what, setting: 'QUITTANCE_INSTITUTIONS' })
      ids.set(id, bank.name)
    }
  }
  const defaults = banks.filter(({ isDefault }) => isDefault)
  if (defaults.length > 1) {
    const named = defaults.map(({ name }) => name).join(' and ')
    throw wrong(`The banks ${named} are all \`isDefault\`. Choose one.`)
  }
}

function requireGateways(gateways: readonly OwnGateway[], rails: RailsConfig): void {
  const kinds = new Set<string>()
  const ids = new Map(rails.gateways.map(({ id, kind }) => [id, kind as string]))
  for (const gateway of gateways) {
    const { id, kind, amounts, payer = {} } = gateway
    const what = `The gateway ${JSON.stringify(kind)}`
    requireForm(kind, KIND, `${what} needs a kind such as "voucher"`)
    for (const name of ['create', 'read', 'refund'] as const) requireFunction(what, name, gateway)
    if (kinds.has(kind) || isBuiltInGateway(kind)) {
      throw wrong(`${what} has a kind that is taken. Give it another.`)
    }
    kinds.add(kind)
    requireFree(ids, { id, what, setting: 'QUITTANCE_GATEWAYS' })
    ids.set(id, kind)
    if (!areAmounts(amounts)) {
      throw wrong(`${what} needs amounts such as { USD: [1n, 100_000n] }, least and most.`)
    }
    for (const [name, { of }] of Object.entries(payer)) {
      if (FIELD.test(name) && !TAKEN.has(name) && PARTS.has(of)) continue
      throw wrong(`${what} has a payer field ${JSON.stringify(name)} that cannot be. Correct it.`)
    }
  }
}

const NAME = /^[a-z][a-z0-9]{0,15}$/
const KIND = /^[a-z][a-z_]{0,31}$/
const FIELD = /^[a-z][a-z0-9_]{0,63}$/
const TAKEN: ReadonlySet<string> = new Set(['success', 'transaction_id', 'status'])
const PARTS: ReadonlySet<string> = new Set(['externalId', 'clientSecret', 'url'])
const MAX_ID = 999_999_999

function areAmounts(amounts: OwnGateway['amounts'] | undefined): boolean {
  const ranges: Array<[string, unknown]> = Object.entries(amounts ?? {})
  return (
    ranges.length > 0 && ranges.every(([currency, range]) => isCurrency(currency) && isRange(range))
  )
}

function isRange(range: unknown): boolean {
  const [min, max]: unknown[] = Array.isArray(range) ? range : []
  return typeof min === 'bigint' && typeof max === 'bigint' && 0n < min && min <= max
}

function requireForm(text: unknown, form: RegExp, sentence: string): void {
  if (typeof text !== 'string' || !form.test(text)) throw wrong(`${sentence}. Correct it.`)
}

function requireFunction(what: string, name: string, part: object): void {
  const found: unknown = (part as Record<string, unknown>)[name]
  if (typeof found !== 'function') throw wrong(`${what} has no function ${name}. Add it.`)
}

function requireFree(
  ids: ReadonlyMap<number, string>,
  { id, what, setting }: { id: number; what: string; setting: string },
): void {
  if (!Number.isInteger(id) || id < 1 || id > MAX_ID) {
    throw wrong(`${what} has the id ${id}. Use a whole number from 1 to ${MAX_ID}.`)
  }
  const owner = ids.get(id)
  if (owner === undefined) return
  throw wrong(`${what} has the id ${id}, which ${owner} has. Use another, or change ${setting}.`)
}

function wrong(sentence: string): BaseError {
  return new BaseError(sentence, { code: 'own_part_wrong' })
}
