import { parseJson, type JsonValue } from '../../wire/json.ts'
import type { Endpoint } from '../admission/endpoint.ts'
import recorded from './examples.json' with { type: 'json' }

/** As in the documents: a name, and what was answered. */
export type Examples = Record<string, { summary?: string; value: JsonValue }>

type Recorded = {
  /** By type and what happened: `transactions transaction.completed`. */
  webhooks: Readonly<Record<string, string>>
  /** By method and path: `ok`, or the status and the code of a failure. */
  operations: Readonly<Record<string, Readonly<Record<string, string>> | undefined>>
  failures: Readonly<Record<'a' | 'b', Readonly<Record<string, string>>>>
}

const { webhooks, operations, failures }: Recorded = recorded

/** What a test was answered by this operation. */
export function examplesOfAnswer({ method, path }: Endpoint): Examples {
  const text = operations[`${method} ${path}`]?.['ok']
  return text === undefined ? {} : { answer: { value: parseJson(text) } }
}

/** How this operation refused a test, or, where none saw that, another one of its group. */
export function examplesOfFailure(
  { group, method, path }: Endpoint,
  { status, codes }: { status: string; codes: ReadonlyArray<{ code: string; title: string }> },
): Examples {
  const own = operations[`${method} ${path}`] ?? {}
  const found = codes.flatMap(({ code, title }) => {
    const key = `${status} ${code}`
    const text = own[key] ?? failures[group][key]
    if (text === undefined) return []
    const name = group === 'a' ? `code_${code}` : code
    return [[name, { summary: title, value: parseJson(text) }] as const]
  })
  return Object.fromEntries(found)
}

/** Bodies of this type that a platform has delivered. */
export function examplesOfWebhook(type: string): Examples {
  return Object.fromEntries(
    Object.entries(webhooks).flatMap(([key, text]) => {
      const [of, what = ''] = key.split(' ')
      return of === type
        ? [[what.replaceAll('.', '_'), { summary: what, value: parseJson(text) }]]
        : []
    }),
  )
}
