/** The programs of the pages, as a browser loads them. */
export type PageFiles = {
  /** By the name in their address, which changes whenever the content does. */
  assets: ReadonlyMap<string, { type: string; body: Uint8Array }>
  entries: Readonly<Record<PageName, PageEntry>>
}

export type PageEntry = {
  script: string
  style: string
  /** The files that the script cannot start without. */
  parts: readonly string[]
}

export type PageName = 'console' | 'receipt' | 'checkout'

/** The documents that the programs of the pages fill. They contain nothing of a record. */
export function shellOf(page: {
  title: string
  entry: PageEntry
  /** Instead of what the program makes. */
  body?: string
  /** Whether the program runs in addition to the body. */
  runs?: boolean
}): string {
  const { title, entry, body, runs = body === undefined } = page
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>${title} · Quittance</title>
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <link rel="icon" href="${ICON}" />
    <link rel="stylesheet" href="/console/assets/${entry.style}" />
${runs ? programOf(entry) : ''}  </head>
  <body>
${body ?? PLACE}  </body>
</html>
`
}

function programOf({ script, parts }: PageEntry): string {
  const preloads = parts.map(
    (part) => `    <link rel="modulepreload" href="/console/assets/${part}" />\n`,
  )
  return `${preloads.join('')}    <script type="module" src="/console/assets/${script}"></script>\n`
}

const PLACE = `    <div id="app"></div>
    <noscript>This page needs JavaScript.</noscript>
`

export function consoleShell(entry: PageEntry): string {
  return shellOf({ title: 'Console', entry })
}

export const RECEIPT_UNKNOWN = `    <main class="nothing">
      <h1>This receipt does not exist</h1>
      <p>The address is incomplete, or belongs to no receipt. Ask the sender for the
        whole address.</p>
    </main>
`

export const CHECKOUT_UNKNOWN = `    <main class="nothing">
      <h1>This payment does not exist</h1>
      <p>The address is incomplete, or belongs to no payment. Ask the sender for the
        whole address, and do not pay before you have it.</p>
    </main>
`

/** In the page itself, so that the browser asks for no `/favicon.ico`. */
export const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">' +
      '<rect width="32" height="32" rx="8" fill="#0b6e4f"/>' +
      '<path d="M8 17l5 5L24 10" fill="none" stroke="#fff" stroke-width="4"/></svg>',
  )
