import { stringifyJson } from '../../wire/json.ts'

/** Where the document has it. */
export type Reference = { $ref: string }

type Paths<Response> = Record<
  string,
  Record<string, { responses: Record<string, Response | Reference> }>
>

/**
 * Moves headers and failures to where each is once. A page that shows the document walks through
 * all of it before it shows anything, and operations fail alike.
 */
export function shareParts<Response extends { headers?: Record<string, unknown> }>(
  paths: Paths<Response>,
) {
  const headers = createShelf<unknown>('headers')
  const responses = createShelf<Response>('responses')
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  for (const operation of operations) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if ('$ref' in response) continue
      const { headers: own = {} } = response
      for (const [name, header] of Object.entries(own)) own[name] = headers.put(name, header)
      if (status >= '400') operation.responses[status] = responses.put(`Failure${status}`, response)
    }
  }
  return { headers: headers.parts, responses: responses.parts }
}

/** Parts by names that are theirs alone: of two with one name the second has a number. */
function createShelf<T>(place: string) {
  const parts: Record<string, T> = {}
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const nameNew = (name: string): string => {
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return count === 1 ? name : `${name}_${count}`
  }
  return {
    parts,
    put(name: string, part: T): Reference {
      const key = `${name} ${stringifyJson(part)}`
      const kept = names.get(key) ?? nameNew(name)
      names.set(key, kept)
      parts[kept] = part
      return { $ref: `#/components/${place}/${kept}` }
    },
  }
}
