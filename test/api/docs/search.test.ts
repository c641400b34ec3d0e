import { expect } from 'chai'

import { createSearch } from '../../../src/api/docs/search.ts'
import { startApi, type Api } from '../../fixtures/api/api.ts'
import { echoEndpoints } from '../../fixtures/api/endpoints.ts'
import {
  describeInChromium,
  obstaclesOf,
  startBrowser,
  tooWideOf,
} from '../../fixtures/console/browser.ts'

const HOSTILE = '"><script>alert(1)</script>'

describe('the search of the documents', () => {
  let api: Api
  before(async () => (api = await startApi({ endpoints: echoEndpoints() })))
  after(() => api.close())

  const search = async (query: string) => {
    const { status, text } = await api.send({ url: `/docs/search${query}` })
    expect(status).to.equal(200)
    const links = [...text.matchAll(/<h2><a href="([^"]*)"/g)].map(([, link = '']) => link)
    return { text, links }
  }

  it('finds a section of a guide, a setting and an operation, each where it is', async () => {
    const cases = {
      backup: '/docs/guides/operating#backup',
      'Several chains': '/docs/guides/configuration#several-chains',
      quittance_chains: '/docs/guides/configuration#settings',
      'api/echo': '/docs#b-payb',
    }
    for (const [asked, link] of Object.entries(cases)) {
      const { links } = await search(`?q=${encodeURIComponent(asked)}`)
      expect(links.slice(0, 5), asked).to.include(link)
      const [page = '', anchor = ''] = link.split('#')
      expect((await api.send({ url: page })).text, link).to.include(`id="${anchor}"`)
    }
  })

  it('says what to do where nothing is asked, or nothing is found', async () => {
    for (const query of ['', '?q=', '?q=a', '?q=%2E%2E']) {
      expect((await search(query)).text).to.include('Write one word or more.')
    }
    expect((await search('?q=xyzzyx')).text).to.include('Try another word')
    expect((await search('?q=xyzzyx&q=backup')).links).not.to.deep.equal([])
    const path = encodeURIComponent('/api/echo/{transaction_id}/x')
    expect((await search(`?q=${path}`)).text).to.include('Try another word')
  })

  it('shows what was asked for as text, and marks it as text', async () => {
    const { text } = await search(`?q=${encodeURIComponent(`${HOSTILE} (a|b)* {reference} \\`)}`)
    expect(text).to.include('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt; (a|b)* ')
    expect(text).not.to.include('<script')
  })

  it('marks words in text that has signs of HTML, and finds what begins so', () => {
    const html = '<h1 id="a">A &lt;b&gt;</h1><p>One &amp; <code>two</code> &lt;amp&gt;</p>'
    const asked = createSearch([{ title: 'Page', address: '/page', html }])
    expect(asked('amp')).to.equal(
      '<h2><a href="/page#a">A &lt;b&gt;</a> <span class="quiet">Page</span></h2>\n' +
        '<p>One &amp; two &lt;<mark>amp</mark>&gt;</p>',
    )
    expect(asked('lt')).to.include('No page has')
    expect(asked('wo')).to.include('No page has')
    expect(asked('Tw o')).to.include('<mark>tw</mark>o')
  })

  it('looks for the first eight words alone, whatever the length', () => {
    const html = '<h1 id="a">A</h1><p>w8 w9</p>'
    const asked = createSearch([{ title: 'Page', address: '/page', html }])
    const words = (count: number) => Array.from({ length: count }, (_, at) => `w${at + 1}`)
    expect(asked(words(8).join(' '))).to.include('<mark>w8</mark> w9')
    expect(asked(words(10_000).join(' '))).to.equal(asked(words(8).join(' ')))
    expect(asked(`${'-'.repeat(200)} w8`)).to.include('Write one word')
  })
})

describeInChromium('the search of the documents in a browser', (chromium) => {
  it('leads from any page to an operation, which opens', async () => {
    const api = await startApi({ endpoints: echoEndpoints() })
    const url = await api.server.listen({ host: '127.0.0.1', port: 0 })
    const browser = await startBrowser(chromium)
    const page = await browser.newPage({ viewport: { width: 360, height: 900 } })
    await page.goto(`${url}/docs/guides/operating`)
    await page.getByRole('searchbox').fill('/api/echo')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/search?q=*')
    expect(await page.getByRole('searchbox').inputValue()).to.equal('/api/echo')
    expect(await obstaclesOf(page)).to.deep.equal([])
    expect(await tooWideOf(page)).to.deep.equal([])
    await page.getByRole('heading', { name: 'POST /api/echo' }).getByRole('link').click()
    await page.locator('#b-payb').waitFor({ state: 'visible' })
    await browser.close()
    await api.close()
  })
})
