import { readdirSync } from 'node:fs'

import { expect } from 'chai'
import type { Browser } from 'playwright-core'

import { pageNames } from '../../../src/api/docs/guides.ts'
import { renderMarkdown } from '../../../src/api/docs/markdown.ts'
import { startApi, type Api } from '../../fixtures/api/api.ts'
import { describeInChromium, startBrowser } from '../../fixtures/console/browser.ts'
import { expectForEverybody } from '../../fixtures/console/looks.ts'
import { fetchInTurn } from '../../fixtures/in-turn.ts'

describe('a page of docs', () => {
  const rendered = (text: string) => renderMarkdown(text, (target) => target).html.trim()

  it('has its parts as HTML, and nothing of it is markup by itself', () => {
    expect(rendered('## The `end` & so\n\nA <b> **bold** `a|b <c>`\nline.')).to.equal(
      '<h2 id="the-end--so">The <code>end</code> &amp; so</h2>\n\n' +
        '<p>A &lt;b&gt; <strong>bold</strong> <code>a|b &lt;c&gt;</code> line.</p>',
    )
    expect(rendered('- [one](two.md)\n- three')).to.equal(
      '<ul>\n<li><a href="two.md">one</a></li>\n<li>three</li>\n</ul>',
    )
    expect(rendered('[`a_b`](c.md)')).to.equal('<p><a href="c.md"><code>a_b</code></a></p>')
    expect(rendered('```sh\n# no heading\n\n- no list\n```')).to.equal(
      '<pre tabindex="0"><code># no heading\n\n- no list</code></pre>',
    )
    const table = rendered('| a | b |\n| --- | --- |\n| `x\\|y` | [z](#z) |')
    expect(table).to.include('<td><code>x|y</code></td><td><a href="#z">z</a></td>')
  })
})

describeInChromium('the guides beside the reference', (chromium) => {
  let api: Api
  let url: string
  let browser: Browser
  const pages = new Map<string, string>()

  before(async () => {
    api = await startApi({ endpoints: [] })
    url = await api.server.listen({ host: '127.0.0.1', port: 0 })
    browser = await startBrowser(chromium)
    for (const path of ['', ...pageNames().map((name) => `/${name}`)]) {
      const answer = await fetchInTurn(`${url}/docs/guides${path}`)
      expect(answer.status, path).to.equal(200)
      pages.set(`/docs/guides${path}`, await answer.text())
    }
  })
  after(async () => {
    await browser.close()
    await api.close()
  })

  it('are all pages of docs', () => {
    const files = readdirSync('docs').map((name) => name.replace('.md', ''))
    expect([...pageNames(), 'README'].toSorted()).to.deep.equal(files.toSorted())
  })

  it('have a title, and nothing left of Markdown', () => {
    for (const [path, text] of pages) {
      const prose = text.replaceAll(/<(code|style)>[^]*?<\/\1>/g, '')
      expect(prose, path).to.match(/<title>\S.* · Quittance<\/title>/)
      expect(prose, path).not.to.match(/\]\(|\*\*|`|^\s*(?:\||#+ |- )/m)
    }
  })

  it('link to headings that are there', () => {
    for (const [path, text] of pages) {
      for (const [, href = ''] of text.matchAll(/ href="([/#][^"]*)"/g)) {
        const [to, anchor] = href.split('#')
        const target = pages.get(to === '' ? path : (to ?? ''))
        if (to === '/docs') continue
        expect(target, `${path} ${href}`).to.be.a('string')
        if (anchor) expect(target, `${path} ${href}`).to.include(`id="${anchor}"`)
      }
    }
  })

  it('are for everybody, narrow and wide, light and dark', async () => {
    const page = await browser.newPage()
    for (const path of ['', '/api', '/operating']) {
      await page.goto(`${url}/docs/guides${path}`)
      await expectForEverybody(page, path)
    }
  })
})
