import { fastify, type FastifyInstance } from 'fastify'

import { once } from '../../base/cache.ts'
import { escapeHtml } from '../../wire/html.ts'
import { stringifyJson } from '../../wire/json.ts'
import type { Endpoint } from '../admission/endpoint.ts'
import { ICON } from '../pages/shells.ts'
import { createStaticFile } from '../pages/static-file.ts'
import { addGuideRoutes, guideLinks, listGuides, menuOf } from './guides.ts'
import { PAGE_POLICY, pageOf } from './layout.ts'
import { documentGroup } from './openapi.ts'
import { referenceLinks, renderReference } from './reference.ts'
import { createSearch } from './search.ts'

/** The documents for programs, a page that shows both to people, and one that tries them. */
export function addDocsRoutes(server: FastifyInstance, endpoints: readonly Endpoint[]): void {
  for (const group of ['a', 'b'] as const) {
    const file = createStaticFile({
      type: 'application/json; charset=utf-8',
      // It may be kept, and is asked for again by its tag.
      cacheControl: 'no-cache',
      load: async () => stringifyJson(documentGroup(group, endpoints)),
    })
    server.get(`/openapi/group-${group}.json`, file.send)
  }
  const rendered = once(async () => referenceOf(endpoints))
  const reference = createStaticFile({
    type: 'text/html; charset=utf-8',
    cacheControl: 'no-cache',
    load: async () => pageOf(await rendered()),
  })
  server.get('/docs', (request, reply) =>
    reference.send(request, reply.header('content-security-policy', PAGE_POLICY)),
  )
  server.get('/docs/explorer', async (_request, reply) =>
    reply
      .header('content-security-policy', EXPLORER_POLICY)
      .type('text/html; charset=utf-8')
      .send(EXPLORER),
  )
  const program = createStaticFile({
    type: 'text/javascript; charset=utf-8',
    cacheControl: 'max-age=3600',
    load: loadProgram,
  })
  server.get('/docs/explorer.js', program.send)
  addGuideRoutes(server)
  const search = once(async () => {
    const { title, main: html } = await rendered()
    return createSearch([{ title, address: '/docs', html }, ...listGuides()])
  })
  server.get<{ Querystring: { q?: string | string[] } }>('/docs/search', async (request, reply) => {
    const asked = [request.query.q ?? ''].flat().join(' ')
    const found = (await search())(asked)
    const main = `<h1>Search</h1>\n<div class="found">\n${found}\n</div>`
    return reply
      .header('content-security-policy', PAGE_POLICY)
      .type('text/html; charset=utf-8')
      .send(pageOf({ title: 'Search', menu: menuOf(), main, asked }))
  })
}

function referenceOf(endpoints: readonly Endpoint[]) {
  const documents = new Map(
    (['b', 'a'] as const).map((group) => [group, documentGroup(group, endpoints)]),
  )
  return {
    title: 'API reference',
    menu: `${referenceLinks(documents)}\n<p><a href="/docs/guides">Guides</a></p>\n${guideLinks()}`,
    main: renderReference(documents),
  }
}

/** The page gets nothing from elsewhere, and its browser refuses if it tries. */
const EXPLORER_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "frame-ancestors 'none'",
].join('; ')

/** The page's own assistants live elsewhere. */
const QUIET = { agent: { disabled: true }, mcp: { disabled: true } }

const CONFIGURATION = JSON.stringify({
  sources: [
    { ...QUIET, slug: 'group-b', title: 'Group B: platform', url: '/openapi/group-b.json' },
    { ...QUIET, slug: 'group-a', title: 'Group A: payments', url: '/openapi/group-a.json' },
  ],
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
})

const EXPLORER = `<!doctype html>
<html lang="en">
  <head>
    <title>API explorer · Quittance</title>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="${ICON}" />
    <link rel="preload" href="/openapi/group-b.json" as="fetch" crossorigin />
  </head>
  <body>
    <p id="waiting">The explorer starts, which takes a few seconds. It needs scripts; the
      <a href="/docs">reference</a> has the same operations without any.</p>
    <script id="api-reference" data-configuration="${escapeHtml(CONFIGURATION)}"></script>
    <script src="/docs/explorer.js"></script>
  </body>
</html>
`

/**
 * The explorer's program is megabytes inside a plugin, so it is loaded when somebody first asks. A
 * server that never listens hands it out.
 */
async function loadProgram(): Promise<string> {
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const holder = fastify()
  await holder.register(plugin, { routePrefix: '/', configuration: { url: '/' } })
  const { body } = await holder.inject({ url: '/js/scalar.js' })
  await holder.close()
  return `${BEFORE}\n${body}\n${AFTER}`
}

/** Else it tries whether it may make programs from text, and the policy's refusal is logged. */
const BEFORE = 'globalThis.__zod_globalConfig = { jitless: true };'
const AFTER = "document.querySelector('#waiting')?.remove();"
