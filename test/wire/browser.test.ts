import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

describe('the wire', () => {
  it('needs nothing of Node, so that its files run in a browser', () => {
    const ofNode = [...reachable()].flatMap((path) =>
      importsOf(path)
        .filter((name) => name.startsWith('node:'))
        .map((name) => `${path} imports ${name}`),
    )
    expect(ofNode).to.deep.equal([])
  })
})

/** Every file of the wire, and whatever they import of ours for more than its types. */
function reachable(): Set<string> {
  const found = new Set<string>()
  const files = readdirSync('src/wire', { recursive: true, encoding: 'utf8' })
  const open = files.filter((name) => name.endsWith('.ts')).map((name) => join('src/wire', name))
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue
    found.add(path)
    const ours = importsOf(path).filter((name) => name.startsWith('.'))
    open.push(...ours.map((name) => join(path, '..', name)))
  }
  return found
}

function importsOf(path: string): string[] {
  const statements = readFileSync(path, 'utf8').matchAll(/^import (?!type )[^;]*?'([^']+)'$/gms)
  return [...statements].flatMap(([, name]) => name ?? [])
}
