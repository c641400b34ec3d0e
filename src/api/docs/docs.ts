import { fastify, type FastifyInstance } from 'fastify'

import { escapeHtml } from '../../wire/html.ts'
import { stringifyJson } from '../../wire/json.ts'
import type { Endpoint } from '../admission/endpoint.ts'
import { ICON } from '../pages/shells.ts'
import { createStaticFile } from '../pages/static-file.ts'
import { addGuideRoutes } from './guides.ts'
import { documentGroup } from './openapi.ts'

/** The documents for programs, and one page that shows both to people. */
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
  server.get('/docs', async (_request, reply) =>
    reply
      .header('content-security-policy', PAGE_POLICY)
      .type('text/html; charset=utf-8')
      .send(PAGE),
  )
  const program = createStaticFile({
    type: 'text/javascript; charset=utf-8',
    cacheControl: 'max-age=3600',
    load: loadProgram,
  })
  server.get('/docs/page.js', program.send)
  addGuideRoutes(server, PAGE_POLICY)
}

/** The page gets nothing from elsewhere, and its browser refuses if it tries. */
const PAGE_POLICY = [
  "default-src 'self'",
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

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <title>Quittance: API reference</title>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="${ICON}" />
    <link rel="preload" href="/openapi/group-b.json" as="fetch" crossorigin />
  </head>
  <body>
    <noscript>Without scripts, read
      <a href="/openapi/group-a.json">Group A</a> and
      <a href="/openapi/group-b.json">Group B</a>.
    </noscript>
    <script id="api-reference" data-configuration="${escapeHtml(CONFIGURATION)}"></script>
    <script src="/docs/page.js"></script>
  </body>
</html>
`

/**
 * The page's program is megabytes inside a plugin, so it is loaded when somebody first asks. A
 * server that never listens hands it out.
 */
async function loadProgram(): Promise<string> {
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const holder = fastify()
  await holder.register(plugin, { routePrefix: '/', configuration: { url: '/' } })
  const { body } = await holder.inject({ url: '/js/scalar.js' })
  await holder.close()
  return body
}
