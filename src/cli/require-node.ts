import { whyTooOld } from '../base/node-version.ts'

const why = whyTooOld()
if (why !== undefined) {
  console.error(why)
  process.exit(2)
}
