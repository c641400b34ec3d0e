import { messageOf } from '../errors.ts'

/** The keys and places that lead to a value. */
export type JsonPlace = readonly (string | number)[]

/** A JSON text that a person has written, with the line on which each of its values begins. */
export function parseJsonLines(text: string): {
  value: unknown
  /** Why the text is not JSON, with the line. */
  problem: string | undefined
  /** Of a value that is not there: the line of what would hold it. */
  lineOf: (place: JsonPlace) => number
} {
  try {
    const value: unknown = JSON.parse(text)
    const lines = linesIn(text)
    return { value, problem: undefined, lineOf: (place) => lineAt(lines, place) }
  } catch {
    return { value: undefined, problem: withLine(text), lineOf: () => 1 }
  }
}

/** The engine does not always say where; the first lines that begin no JSON do. */
function withLine(text: string): string {
  const lines = text.trimEnd().split('\n')
  const first = lines.findIndex((_, at) => isWrong(lines.slice(0, at + 1).join('\n')))
  return `line ${first === -1 ? lines.length : first + 1}: this is not JSON`
}

function isWrong(begin: string): boolean {
  try {
    JSON.parse(begin)
    return false
  } catch (error) {
    const message = messageOf(error)
    const position = /position (\d+)/.exec(message)?.[1]
    if (position !== undefined) return Number(position) < begin.length
    return !/end of JSON|Unterminated/.test(message)
  }
}

function lineAt(lines: ReadonlyMap<string, number>, place: JsonPlace): number {
  for (let length = place.length; length >= 0; length--) {
    const line = lines.get(JSON.stringify(place.slice(0, length)))
    if (line !== undefined) return line
  }
  return 1
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

type Level = { isList: boolean; key: string | number; isKeyNext: boolean }

/** Walks through a text that is JSON. Of a key that is there twice, the later line counts. */
function linesIn(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  const levels: Level[] = []
  let [line, at] = [1, 0]
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    line += text.slice(at, index).split('\n').length - 1
    at = index
    const level = levels.at(-1)
    if (token === '}' || token === ']') levels.pop()
    else if (token === ',' && level?.isList) level.key = Number(level.key) + 1
    else if (token === ',' && level) level.isKeyNext = true
    else if (token === ':') continue
    else if (level?.isKeyNext) {
      level.key = String(JSON.parse(token))
      level.isKeyNext = false
    } else {
      lines.set(JSON.stringify(levels.map(({ key }) => key)), line)
      if (token === '{') levels.push({ isList: false, key: '', isKeyNext: true })
      if (token === '[') levels.push({ isList: true, key: 0, isKeyNext: false })
    }
  }
  return lines
}
