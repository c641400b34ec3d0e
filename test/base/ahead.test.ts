import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'

import { ahead } from '../../src/base/ahead.ts'

describe('parts that are asked for ahead', () => {
  it('come in their order, each asked for before the one before it is worked on', async () => {
    const asked: number[] = []
    async function* parts() {
      for (let part = 1; part <= 3; part += 1) {
        asked.push(part)
        yield await Promise.resolve(part)
      }
    }
    const worked: number[][] = []
    for await (const part of ahead(parts())) worked.push([part, ...asked])
    expect(worked).to.deep.equal([
      [1, 1, 2],
      [2, 1, 2, 3],
      [3, 1, 2, 3],
    ])
  })

  it('show what came before a failure, and the failure in its turn', async () => {
    async function* parts() {
      yield await Promise.resolve(1)
      throw new Error('no more')
    }
    const worked: number[] = []
    let failure: unknown
    try {
      for await (const part of ahead(parts())) {
        worked.push(part)
        await sleep(5)
      }
    } catch (error) {
      failure = error
    }
    expect(worked).to.deep.equal([1])
    expect(failure).to.have.property('message', 'no more')
  })

  it('are let go where the work ends before them', async () => {
    let isClosed = false
    async function* parts() {
      try {
        for (let part = 1; ; part += 1) yield await Promise.resolve(part)
      } finally {
        isClosed = true
      }
    }
    for await (const part of ahead(parts())) if (part === 2) break
    expect(isClosed).to.equal(true)
  })
})
