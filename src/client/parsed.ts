import type { ExactNumber } from '../wire/json.ts'

/** A word of a list that may grow: programs must bear with one that they do not know. */
export type Open<Word extends string> = Word | (string & {})

/**
 * A schema of the wire as this client hands it over: an amount is a string, a whole number that a
 * double cannot hold is one too, and lists of words are open.
 */
export type Parsed<T> = T extends ExactNumber | bigint
  ? string
  : T extends string
    ? Open<T>
    : T extends readonly (infer Item)[]
      ? Parsed<Item>[]
      : T extends object
        ? { [Key in keyof T]: Parsed<T[Key]> }
        : T

/**
 * An answer of any server of the interface: the fields that every server has, and those that a
 * server may add, ours among them.
 */
export type Answered<T, Named extends keyof T> = {
  [Key in Named]: Parsed<T[Key]>
} & { [Key in Exclude<keyof T, Named | 'success'>]?: Parsed<T[Key]> | null }
