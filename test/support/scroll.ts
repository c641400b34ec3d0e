import type { Page } from 'playwright-core'

/** What stood in sight of somebody who went through a list from its top to its end. */
export type Walk = {
  /** By their place in the list, as its own numbers of rows tell it. */
  ids: (string | null)[]
  /** Places at which different rows stood at different times. */
  changed: number
  /** Frames in which a part of what was in sight was empty. */
  blankFrames: number
  frames: number
  /** The most that stood in the document at one time. */
  elements: number
  ms: number
}

/** Goes a screen at a time, a frame each, and waits at the end for what is still to come. */
export async function walkThrough(page: Page, wanted: { rows: number }): Promise<Walk> {
  return page.evaluate<Walk>(`(${WALK})(${wanted.rows})`)
}

const WALK = `async (rows) => {
  const region = document.querySelector('.rows')
  const head = region.querySelector('.head')
  const seen = new Map()
  const walk = { changed: 0, blankFrames: 0, frames: 0, elements: 0 }
  const note = (row) => {
    const place = Number(row.getAttribute('aria-rowindex')) - 2
    const id = row.querySelector('a').textContent
    if (seen.has(place) && seen.get(place) !== id) walk.changed += 1
    seen.set(place, id)
  }
  const look = () => {
    const edge = region.getBoundingClientRect()
    const end = Math.min(edge.bottom, region.querySelector('.body').getBoundingClientRect().bottom)
    let reach = head.getBoundingClientRect().bottom
    for (const row of region.querySelectorAll('.body .row')) {
      const box = row.getBoundingClientRect()
      if (box.bottom <= reach || box.top >= edge.bottom) continue
      if (box.top > reach + 1) break
      note(row)
      reach = box.bottom
    }
    if (reach < end - 1) walk.blankFrames += 1
    walk.frames += 1
    walk.elements = Math.max(walk.elements, document.querySelectorAll('*').length)
  }
  const startedAt = performance.now()
  let movedAt = startedAt
  while (!seen.has(rows - 1) && performance.now() - movedAt < 90e3) {
    await new Promise(requestAnimationFrame)
    look()
    const before = region.scrollTop
    region.scrollTop += region.clientHeight - 2 * head.clientHeight
    if (region.scrollTop !== before) movedAt = performance.now()
  }
  const last = Math.max(...seen.keys())
  const ids = Array.from({ length: last + 1 }, (_, place) => seen.get(place) ?? null)
  return { ids, ...walk, ms: performance.now() - startedAt }
}`
