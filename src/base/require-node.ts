import { whyTooOld } from './node-version.ts'

// Every entry imports this first: what follows fails on an older Node, in words that help nobody.
const why = whyTooOld()
if (why !== undefined) throw new Error(why)
