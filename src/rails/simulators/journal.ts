import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

import { makeFolder } from '../../base/lock.ts'

/** Objects by id that outlive the program: each change is a line of a file. */
export type Journal<T extends { id: string }> = {
  get: (id: string) => T | undefined
  find: (test: (item: T) => boolean) => T | undefined
  all: () => T[]
  put: (item: T) => T
}

/** Without a file it forgets everything at the end. */
export function openJournal<T extends { id: string }>(file: string | undefined): Journal<T> {
  const items = new Map<string, T>()
  if (file !== undefined && existsSync(file)) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const item = parseLine(line) as T | undefined
      if (item) items.set(item.id, item)
    }
  }
  if (file !== undefined) makeFolder(dirname(file))
  return {
    get: (id) => items.get(id),
    find: (test) => [...items.values()].find(test),
    all: () => [...items.values()],
    put(item) {
      items.set(item.id, item)
      if (file !== undefined) appendFileSync(file, `${JSON.stringify(item)}\n`)
      return item
    },
  }
}

/** The last line of a killed program may be half of one. */
function parseLine(line: string): unknown {
  try {
    return line === '' ? undefined : JSON.parse(line)
  } catch {
    return undefined
  }
}
