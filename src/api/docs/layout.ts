import { escapeHtml } from '../../wire/html.ts'
import { ICON } from '../pages/shells.ts'

/**
 * A page that needs no program. Its menu is folded where there is no room for it. What was searched
 * for is in the field for the next search.
 */
export function pageOf(page: {
  title: string
  menu: string
  main: string
  asked?: string
}): string {
  const { title, menu, main, asked = '' } = page
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
      <form role="search" action="/docs/search">
        <input type="search" name="q" placeholder="Search" aria-label="Search the documentation"
          value="${escapeHtml(asked)}" maxlength="200" required />
      </form>
      <details>
        <summary>All pages</summary>
${menu}
      </details>
    </nav>
    <main>
${main}
    </main>
  </body>
</html>
`
}

/** It has no program, and gets nothing from anywhere. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5d9e0, #3a404b);
  --faint: light-dark(#f3f5f8, #1e232b); --link: light-dark(#0b6e4f, #5fd3a6);
  --quiet: light-dark(#525a67, #a3acba) }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; background: light-dark(#fff, #14181e);
  color: light-dark(#1a1f27, #e3e7ee) }
nav, main { padding: 1.5rem }
nav { padding-block: 0.75rem; border-bottom: 1px solid var(--line) }
nav ul { list-style: none; padding: 0; columns: 9rem }
nav a { text-decoration: none }
nav a[aria-current] { font-weight: 650; color: inherit }
main { min-width: 0; max-width: 46rem }
h1, h2, h3 { line-height: 1.25; margin: 2em 0 0.6em }
h1 { margin-top: 0 }
a { color: var(--link) }
summary { cursor: pointer }
input { font: inherit; color: inherit; width: 100%; box-sizing: border-box; padding: 0.3rem 0.6rem;
  margin-bottom: 0.75rem; background: var(--faint); border: 1px solid var(--line);
  border-radius: 8px }
mark { background: light-dark(#fdf0b8, #5a4b10); color: inherit }
.found h2 { font-size: 1.1rem; margin: 1.6em 0 0.3em }
.found p { margin: 0 }
code { font: 0.88em ui-monospace, monospace; background: var(--faint); padding: 0.1em 0.3em;
  border-radius: 4px; overflow-wrap: anywhere }
pre { background: var(--faint); border: 1px solid var(--line); border-radius: 8px; padding: 1rem;
  overflow: auto; line-height: 1.45; max-height: 28rem }
pre code { background: none; padding: 0; overflow-wrap: normal }
.table { overflow: auto }
table { border-collapse: collapse; width: 100% }
th, td { text-align: start; vertical-align: top; padding: 0.45rem 0.9rem 0.45rem 0;
  border-bottom: 1px solid var(--line) }
.operation { border-bottom: 1px solid var(--line); padding: 0.5rem 0 }
.operation h4 { margin: 1.4em 0 0.4em }
.operation summary span { color: var(--quiet) }
.operation td p { margin: 0 }
.operation td:first-child code { overflow-wrap: break-word }
.operation > div { scroll-margin-top: 5rem }
.quiet { color: var(--quiet) }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 15rem 1fr }
  nav { border-inline-end: 1px solid var(--line); border-bottom: 0; padding: 1.5rem;
    min-height: 100vh; box-sizing: border-box }
  nav ul { columns: auto }
  main { padding: 2rem 3rem }
  @supports selector(::details-content) {
    nav summary { display: none }
    nav details::details-content { content-visibility: visible; block-size: auto }
  }
}
@media print { nav { display: none } pre { max-height: none; white-space: pre-wrap } }
`
