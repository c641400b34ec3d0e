import { readFileSync } from 'node:fs'

import type { FastifyInstance } from 'fastify'

import { ICON } from '../pages/shells.ts'
import { createStaticFile } from '../pages/static-file.ts'
import { renderMarkdown } from './markdown.ts'

const FOLDER = new URL('../../../docs/', import.meta.url)
const INDEX = 'README'

/** The pages of `docs/` next to the reference: `/docs/guides` lists them. */
export function addGuideRoutes(server: FastifyInstance, policy: string): void {
  for (const name of [INDEX, ...pageNames()]) {
    const file = createStaticFile({
      type: 'text/html; charset=utf-8',
      cacheControl: 'no-cache',
      load: async () => pageOf(name),
    })
    server.get(addressOf(name), (request, reply) =>
      file.send(request, reply.header('content-security-policy', policy)),
    )
  }
}

/** In the order of the index. */
export function pageNames(): string[] {
  return [...read(INDEX).matchAll(/\]\(([a-z-]+)\.md\)/g)].map(([, name]) => name!)
}

function read(name: string): string {
  return readFileSync(new URL(`${name}.md`, FOLDER), 'utf8')
}

function addressOf(name: string): string {
  return name === INDEX ? '/docs/guides' : `/docs/guides/${name}`
}

/** Pages of the web and of this folder are linked; what else the repository has is not served. */
function linkOf(target: string): string | undefined {
  if (/^(?:https:|#)/.test(target)) return target
  const [, name, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(target) ?? []
  return name === undefined ? undefined : `${addressOf(name)}${anchor}`
}

function pageOf(name: string): string {
  const { title, html } = renderMarkdown(read(name), linkOf)
  const links = pageNames().map((one) => {
    const current = one === name ? ' aria-current="page"' : ''
    const words = /^# (.*)$/m.exec(read(one))?.[1] ?? one
    return `<li><a href="${addressOf(one)}"${current}>${words}</a></li>`
  })
  return `<!doctype html>
<html lang="en">
  <head>
    <title>${title} · Quittance</title>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="${ICON}" />
    <style>${STYLE}</style>
  </head>
  <body>
    <nav aria-label="Documentation">
      <p><a href="/docs">API reference</a></p>
      <ul>
        ${links.join('\n        ')}
      </ul>
    </nav>
    <main>
${html}
    </main>
  </body>
</html>
`
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5d9e0, #3a404b);
  --faint: light-dark(#f3f5f8, #1e232b); --link: light-dark(#0b6e4f, #5fd3a6) }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; background: light-dark(#fff, #14181e);
  color: light-dark(#1a1f27, #e3e7ee) }
nav, main { padding: 1.5rem }
nav ul { list-style: none; padding: 0; columns: 9rem }
nav a { text-decoration: none }
nav a[aria-current] { font-weight: 650; color: inherit }
main { min-width: 0; max-width: 46rem }
h1, h2, h3 { line-height: 1.25; margin: 2em 0 0.6em }
h1 { margin-top: 0 }
a { color: var(--link) }
code { font: 0.88em ui-monospace, monospace; background: var(--faint); padding: 0.1em 0.3em;
  border-radius: 4px; overflow-wrap: anywhere }
pre { background: var(--faint); border: 1px solid var(--line); border-radius: 8px; padding: 1rem;
  overflow: auto; line-height: 1.45 }
pre code { background: none; padding: 0; overflow-wrap: normal }
.table { overflow: auto }
table { border-collapse: collapse; width: 100% }
th, td { text-align: start; vertical-align: top; padding: 0.45rem 0.9rem 0.45rem 0;
  border-bottom: 1px solid var(--line) }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 15rem 1fr }
  nav { border-inline-end: 1px solid var(--line); min-height: 100vh; box-sizing: border-box }
  nav ul { columns: auto }
  main { padding: 2rem 3rem }
}
@media print { nav { display: none } }
`
