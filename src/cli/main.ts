#!/usr/bin/env node
import './require-node.ts'

import { runCommandLine } from './command-line.ts'

// The reader of the output is gone, such as a closed terminal. Work in progress ends as usual.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

await runCommandLine(process.argv.slice(2))
