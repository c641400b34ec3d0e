import { whyTooOld } from '../base/node-version.ts'

const why = whyTooOld()
if (why !== undefined) {
  process.stderr.write(`${why}\n`)
  process.exit(2)
}
