import { BadValue } from './errors.ts'

/**
 * Under which id requests choose an outside party of which kind. A party beside the usual one has a
 * name, under which its own settings stand.
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
        throw new BadValue(`must be a list as 1=${kinds[0]}, of ${kinds.join(', ')}`)
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
