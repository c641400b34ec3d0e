import { BadValue } from './errors.ts'
import {
  GATEWAY_KINDS,
  GATEWAYS,
  PARTIES,
  PARTY_KINDS,
  type GatewayKind,
  type Party,
  type PartyKind,
} from './parties.ts'

export const INSTITUTION_KINDS = ['ach', 'wire'] as const
export type GatewayChoice = Choice<GatewayKind>
export type InstitutionChoice = Choice<(typeof INSTITUTION_KINDS)[number]>

/** The outside parties that move money; one that is absent is simulated in the sandbox. */
export type RailsConfig = {
  /** Under which address the world reaches this program; absent: the one that it listens on. */
  publicUrl: string | undefined
  gateways: readonly GatewayChoice[]
  institutions: readonly InstitutionChoice[]
  /** The one of each kind that gateways and institutions without a name choose. */
  usual: { readonly [Kind in PartyKind]?: Party<Kind> | undefined }
  /** The others, by the names that gateways and institutions choose them by. */
  named: { readonly [Kind in PartyKind]: ReadonlyMap<string, Party<Kind>> }
  /** The address that receives crypto checkouts; absent: the platform's own address. */
  checkoutPayee: `0x${string}` | undefined
  /** Whom the page of a crypto checkout names as the seller. */
  seller: string | undefined
}

/** The one that a gateway or an institution chooses. */
export function partyOf<Kind extends PartyKind>(
  { usual, named }: Pick<RailsConfig, 'usual' | 'named'>,
  { kind, name }: { kind: Kind; name: string | undefined },
): Party<Kind> | undefined {
  return name === undefined ? usual[kind] : named[kind].get(name)
}

export const USUAL_GATEWAYS: readonly GatewayChoice[] = GATEWAY_KINDS.map((kind) => {
  return { id: GATEWAYS[kind].id, kind, party: undefined }
})

export const USUAL_INSTITUTIONS: readonly InstitutionChoice[] = [
  { id: 1, kind: 'ach', party: undefined },
  { id: 2, kind: 'wire', party: undefined },
]

const partyVariables = PARTY_KINDS.flatMap((kind) => {
  const { name, variables, settings } = PARTIES[kind]
  return [
    { name: `${variables}_URL`, what: `address of the ${name}`, isSecret: false },
    ...Object.values(settings).map(({ variable, what, isSecret = false }) => {
      return { name: `${variables}_${variable}`, what: `${what} of the ${name}`, isSecret }
    }),
  ]
})

/** Every variable of the rails, with what it is. */
export const RAIL_VARIABLES: Readonly<Record<string, string>> = {
  QUITTANCE_PUBLIC_URL: 'public address of this program',
  QUITTANCE_GATEWAYS: 'which gateway has which id',
  QUITTANCE_INSTITUTIONS: 'which institution has which id',
  ...Object.fromEntries(partyVariables.map(({ name, what }) => [name, what])),
  QUITTANCE_CHECKOUT_PAYEE: 'address that receives the payments of the crypto checkout',
  QUITTANCE_CHECKOUT_SELLER: 'name of the seller on the page of the crypto checkout',
}

export const SECRET_RAIL_VARIABLES: readonly string[] = partyVariables
  .filter(({ isSecret }) => isSecret)
  .map(({ name }) => name)

type Read = <T>(name: string, parse: (text: string) => T) => T | undefined

type Reading = {
  read: Read
  problems: string[]
  parseUrl: (text: string) => string
  parseAddress: (text: string) => `0x${string}`
}

export function readRails(reading: Reading): RailsConfig {
  const { read, parseUrl, parseAddress } = reading
  const lone = GATEWAY_KINDS.filter((kind) => GATEWAYS[kind].party === undefined)
  const ofGateways = { kinds: GATEWAY_KINDS, lone }
  const gateways = read('QUITTANCE_GATEWAYS', parseChoices(ofGateways)) ?? USUAL_GATEWAYS
  const ofInstitutions = parseChoices({ kinds: INSTITUTION_KINDS, lone: [] })
  const institutions = read('QUITTANCE_INSTITUTIONS', ofInstitutions) ?? USUAL_INSTITUTIONS
  const choicesOf = (kind: PartyKind): ReadonlyArray<Choice<string>> =>
    kind === 'bank' ? institutions : gateways.filter((one) => one.kind === kind)
  const usual = PARTY_KINDS.flatMap((kind) => {
    const party = readParty(reading, kind, undefined)
    return party === undefined ? [] : [[kind, party]]
  })
  const named = PARTY_KINDS.map((kind) => [kind, readNamed(reading, kind, choicesOf(kind))])
  return {
    publicUrl: read('QUITTANCE_PUBLIC_URL', parseUrl),
    gateways,
    institutions,
    usual: Object.fromEntries(usual) as RailsConfig['usual'],
    named: Object.fromEntries(named) as RailsConfig['named'],
    checkoutPayee: read('QUITTANCE_CHECKOUT_PAYEE', parseAddress),
    seller: read('QUITTANCE_CHECKOUT_SELLER', parseSeller),
  }
}

function parseSeller(text: string): string {
  const name = text.trim()
  if (name.length <= MAX_SELLER && !/\p{C}/u.test(name)) return name
  throw new BadValue(`must be a name of at most ${MAX_SELLER} printable characters`)
}

const MAX_SELLER = 80

function readNamed(
  reading: Reading,
  kind: PartyKind,
  choices: ReadonlyArray<Choice<string>>,
): ReadonlyMap<string, PartySettings> {
  const names = new Set(choices.flatMap(({ party }) => party ?? []))
  return new Map(
    [...names].flatMap((name) => {
      const party = readParty(reading, kind, name)
      if (party !== undefined) return [[name, party]]
      reading.problems.push(`the variables that end in ${suffixOf(name)} are missing`)
      return []
    }),
  )
}

type PartySettings = { url: string } & Record<string, string>

/** A party with a key but without the rest of what it takes is a problem, never half a party. */
function readParty(
  { read, problems, parseUrl }: Reading,
  kind: PartyKind,
  name: string | undefined,
): PartySettings | undefined {
  const { variables, url, settings } = PARTIES[kind]
  const suffix = suffixOf(name)
  const own = read(`${variables}_URL${suffix}`, parseUrl)
  const entries = Object.entries(settings).map(([field, { variable }]) => {
    const full = `${variables}_${variable}${suffix}`
    return { field, full, value: read(full, (text) => text) }
  })
  if (entries.every(({ value }) => value === undefined)) return undefined
  for (const { full, value } of entries) {
    if (value === undefined)
      problems.push(`${full} is missing, and the others of this party are set`)
  }
  const known = entries.map(({ field, value = '' }) => [field, value] as const)
  return { ...Object.fromEntries(known), url: own ?? url }
}

/**
 * The id under which requests choose an outside party, and its kind. A party other than the usual
 * one has a name, and its own settings under that name.
 */
export type Choice<Kind extends string> = { id: number; kind: Kind; party: string | undefined }

/** Reads `1=card, 2=wallet_checkout, 7=card:eu`: no id and no party twice. */
export function parseChoices<const Kind extends string>(options: {
  kinds: readonly Kind[]
  /** Of which there is one, and no other by a name. */
  lone: readonly Kind[]
}): (text: string) => Array<Choice<Kind>> {
  const { kinds, lone } = options
  return (text) => {
    const choices = text.split(',').map((part): Choice<Kind> => {
      const [, id, word, party] = FORM.exec(part.trim()) ?? []
      const kind = kinds.find((one) => one === word)
      if (kind === undefined || (party !== undefined && lone.includes(kind))) {
        throw new BadValue(`must be a list such as 1=${kinds[0]}, with ${kinds.join(', ')}`)
      }
      return { id: Number(id), kind, party }
    })
    if (choices.length > MAX_CHOICES) throw new BadValue(`may name at most ${MAX_CHOICES}`)
    const ids = new Set(choices.map(({ id }) => id))
    const parties = new Set(choices.map(({ kind, party }) => `${kind}:${party ?? ''}`))
    if (ids.size === choices.length && parties.size === choices.length) return choices
    throw new BadValue('must name each id and each party once')
  }
}

/** What a variable of the party ends in; nothing for the usual one. */
export function suffixOf(party: string | undefined): '' | `__${string}` {
  return party === undefined ? '' : `__${party.toUpperCase()}`
}

const FORM = /^([1-9]\d{0,8})=([a-z_]+)(?::([a-z][a-z0-9]{0,15}))?$/
const MAX_CHOICES = 100
