// Builds the console and the receipt page into dist, for the package.
import { mkdirSync, writeFileSync } from 'node:fs'

import { buildPages, MANIFEST } from '../src/app/pages.ts'

const folder = new URL('../dist/console/', import.meta.url)
const { manifest, files } = await buildPages()
mkdirSync(folder, { recursive: true })
for (const [name, body] of files) writeFileSync(new URL(name, folder), body)
writeFileSync(new URL(MANIFEST, folder), `${JSON.stringify(manifest, null, 2)}\n`)
