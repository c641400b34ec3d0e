import { escapeHtml } from '../../wire/html.ts'
import { stringifyJson } from '../../wire/json.ts'
import type { Group } from '../server/headers.ts'
import { describe, fieldsOf, type Field, type Schema, type Schemas } from './fields.ts'
import { renderMarkdown } from './markdown.ts'
import type { OpenApiDocument } from './openapi.ts'

export type Documents = ReadonlyMap<Group, OpenApiDocument>

/** An operation as its document has it. */
type Documented = {
  operationId: string
  summary: string
  description?: string
  tags: readonly string[]
  'x-codeSamples'?: ReadonlyArray<{ label: string; source: string }>
  parameters?: ReadonlyArray<{
    name: string
    in: string
    required: boolean
    description?: string
    schema: Schema
  }>
  requestBody?: { content: Content }
  responses?: Record<string, { $ref?: string; description?: string; content?: Content }>
}
type Content = Record<
  string,
  { schema: Schema; example?: unknown; examples?: Record<string, { value?: unknown }> } | undefined
>
type Listed = { id: string; method: string; path: string; operation: Documented }

/** Every operation of both groups, as a page that a browser shows at once. */
export function renderReference(documents: Documents): string {
  const groups = [...documents].map(([group, document]) => {
    const { title, description } = document.info as { title: string; description: string }
    const listed = operationsOf(group, document)
    const tags = document.tags.map(({ name }) => {
      const operations = listed.filter(({ operation }) => operation.tags.includes(name))
      return `<h3 id="${tagId(group, name)}">${name}</h3>
${operations.map((one) => renderOperation(one, document)).join('\n')}`
    })
    return `<h2 id="${group}">Group ${group.toUpperCase()}: ${escapeHtml(title)}</h2>
${prose(description)}
<p>For programs: <a href="/openapi/group-${group}.json">group-${group}.json</a>, OpenAPI 3.1.</p>
${tags.join('\n')}`
  })
  return `<h1>API reference</h1>
<p>Open an operation to read what it takes, what it answers and how to call it. The
<a href="/docs/guides">guides</a> explain how they work together. To try an operation with a key
of yours, open the <a href="/docs/explorer">explorer</a>.</p>
${groups.join('\n')}`
}

/** For the menu: the parts of each group. */
export function referenceLinks(documents: Documents): string {
  return [...documents]
    .map(([group, { info, tags }]) => {
      const links = tags.map(({ name }) => `<li><a href="#${tagId(group, name)}">${name}</a></li>`)
      const title = escapeHtml(String(info['title']))
      return `<p>Group ${group.toUpperCase()}: ${title}</p>\n<ul>\n${links.join('\n')}\n</ul>`
    })
    .join('\n')
}

function tagId(group: Group, name: string): string {
  return `${group}-${name.toLowerCase().replaceAll(' ', '-')}`
}

function operationsOf(group: Group, { paths, webhooks = {} }: OpenApiDocument): Listed[] {
  const list = (path: string, methods: object): Listed[] =>
    Object.entries(methods).map(([method, operation]: [string, Documented]) => {
      return { id: `${group}-${operation.operationId}`, method, path, operation }
    })
  return [
    ...Object.entries(paths).flatMap(([path, methods]) => list(path, methods)),
    // The platform sends these, and a subscription chooses where.
    ...Object.entries(webhooks).flatMap(([name, { post }]) => list(name, { webhook: post })),
  ]
}

function renderOperation(listed: Listed, document: OpenApiDocument): string {
  const { id, method, path, operation } = listed
  const schemas = document.components.schemas as Schemas
  const { 'x-codeSamples': samples = [] } = operation
  const verb = method === 'webhook' ? method : method.toUpperCase()
  const [status = '', answer] = Object.entries(operation.responses ?? {})[0] ?? []
  const parts = [
    prose(operation.description ?? ''),
    table('Parameters', parametersOf(operation, schemas)),
    table('Body', bodyFields(operation.requestBody?.content, schemas)),
    ...(samples.length === 0 ? exampleOf('Example', operation.requestBody?.content) : []),
    ...samples.map(({ label, source }) => code(label, source)),
    ...exampleOf(`Answer ${status}`, answer?.content),
    table('Fields of the answer', bodyFields(answer?.content, schemas)),
    renderFailures(operation, document),
  ]
  return `<details class="operation"><summary><code>${verb} ${path}</code>
<span>${escapeHtml(operation.summary)}</span></summary>
<div id="${id}">
${parts.filter(Boolean).join('\n')}
</div></details>`
}

function parametersOf({ parameters = [] }: Documented, schemas: Schemas): Field[] {
  return parameters.map(({ name, in: place, required: isRequired, description = '', schema }) => {
    const { type } = describe(schema, schemas)
    return { path: name, type: `${type}, in the ${place}`, isRequired, description }
  })
}

function bodyFields(content: Content | undefined, schemas: Schemas): Field[] {
  const schema = content?.['application/json']?.schema
  return schema ? fieldsOf(schema, schemas) : []
}

function exampleOf(title: string, content: Content | undefined): string[] {
  const { example, examples = {} } = content?.['application/json'] ?? {}
  const value = example ?? Object.values(examples)[0]?.value
  return value === undefined ? [] : [code(title, stringifyJson(value, 2))]
}

function renderFailures({ responses = {} }: Documented, document: OpenApiDocument): string {
  const rows = Object.entries(responses)
    .slice(1)
    .map(([status, response]) => {
      const name = response.$ref?.split('/').at(-1) ?? ''
      const { description = '' } =
        response.$ref === undefined ? response : (document.components.responses[name] ?? {})
      return `<tr><td>${status}</td><td>${prose(description)}</td></tr>`
    })
  return rows.length === 0 ? '' : framed('Failures', ['Status', 'Means'], rows)
}

function table(title: string, fields: readonly Field[]): string {
  if (fields.length === 0) return ''
  const rows = fields.map(({ path, type, isRequired, description }) => {
    const must = isRequired ? ', required' : ''
    const name = escapeHtml(path).replaceAll(/[_.\]-]/g, '$&<wbr />')
    const what = `<code>${name}</code> <span class="quiet">${escapeHtml(type)}${must}`
    return `<tr><td>${what}</span></td><td>${prose(description)}</td></tr>`
  })
  return framed(title, ['Name', 'Means'], rows)
}

function framed(title: string, columns: readonly string[], rows: readonly string[]): string {
  const head = columns.map((column) => `<th scope="col">${column}</th>`).join('')
  return `<h4>${title}</h4><div class="table" tabindex="0" role="region" aria-label="${title}">
<table><thead><tr>${head}</tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>`
}

function code(title: string, source: string): string {
  return `<h4>${escapeHtml(title)}</h4><pre tabindex="0"><code>${escapeHtml(source)}</code></pre>`
}

function prose(text: string): string {
  return renderMarkdown(text, (target) => target).html.trim()
}
