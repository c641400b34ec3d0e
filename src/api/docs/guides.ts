import { readFileSync } from 'node:fs'

import type { FastifyInstance } from 'fastify'

import { createStaticFile } from '../pages/static-file.ts'
import { PAGE_POLICY, pageOf } from './layout.ts'
import { renderMarkdown } from './markdown.ts'
import type { Page } from './search.ts'

const FOLDER = new URL('../../../docs/', import.meta.url)
const INDEX = 'README'

/** The pages of `docs/` next to the reference: `/docs/guides` lists them. */
export function addGuideRoutes(server: FastifyInstance): void {
  for (const name of [INDEX, ...pageNames()]) {
    const file = createStaticFile({
      type: 'text/html; charset=utf-8',
      cacheControl: 'no-cache',
      load: async () => guideOf(name),
    })
    server.get(addressOf(name), (request, reply) =>
      file.send(request, reply.header('content-security-policy', PAGE_POLICY)),
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

function guideOf(name: string): string {
  const { title, html } = renderMarkdown(read(name), linkOf)
  return pageOf({ title, menu: menuOf(name), main: html })
}

/** The menu of all pages other than the reference. */
export function menuOf(current?: string): string {
  return `<p><a href="/docs">API reference</a></p>\n${guideLinks(current)}`
}

/** For the search. */
export function listGuides(): Page[] {
  return pageNames().map((name) => ({
    address: addressOf(name),
    ...renderMarkdown(read(name), linkOf),
  }))
}

/** For the menu of a page: all guides by their titles. */
export function guideLinks(current?: string): string {
  const links = pageNames().map((one) => {
    const mark = one === current ? ' aria-current="page"' : ''
    const words = /^# (.*)$/m.exec(read(one))?.[1] ?? one
    return `<li><a href="${addressOf(one)}"${mark}>${words}</a></li>`
  })
  return `<ul>\n${links.join('\n')}\n</ul>`
}
