/** What an attack tried and what came of it, as the table of `npm run attack` has it. */
export type AttackResult = {
  tried: string
  /** How often. */
  count: number
  outcome: string
  /** What should not be so; empty where the platform held. */
  wrong: string[]
}

export type AttackOptions = {
  /** For how long the load lasts; a short one shows that all of it runs. */
  seconds: number
  /** Told line by line what goes on. */
  say: (line: string) => void
}

/** One file of this folder each, which starts what it needs and ends it. */
export type Attack = {
  name: string
  about: string
  /** The embedded database has nothing there that could be attacked. */
  needsServer?: true
  run: (options: AttackOptions) => Promise<AttackResult[]>
}
