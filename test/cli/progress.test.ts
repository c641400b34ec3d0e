import { expect } from 'chai'

import { createProgress } from '../../src/cli/progress.ts'

describe('the progress of long work', () => {
  const setUp = (isTTY: boolean) => {
    const written: string[] = []
    let nowMs = 0
    const stream = { isTTY, columns: 100, write: (text: string) => written.push(text) }
    const progress = createProgress({
      label: 'reconcile',
      unit: 'records',
      stream,
      nowMs: () => nowMs,
    })
    return { written, progress, pass: (ms: number) => void (nowMs += ms) }
  }

  it('tells on a terminal how far it is, how fast, and the time that is left', () => {
    const { written, progress, pass } = setUp(true)
    pass(20_000)
    progress.update({ done: 1_000, total: 4_000, counted: 50_000 })
    expect(written.at(-1)).to.include('25 %').and.to.include('50,000 records, 2,500/s')
    expect(written.at(-1)).to.include('1 min 0 s left')
    progress.end()
    expect(written.at(-1)).to.equal('\r\u001B[2K')
  })

  it('writes plain lines elsewhere, ten seconds apart, and none of work that is short', () => {
    const { written, progress, pass } = setUp(false)
    progress.update({ done: 1, total: 2, counted: 1 })
    pass(10_000)
    progress.update({ done: 0, total: undefined, counted: 30 })
    pass(9_999)
    progress.update({ done: 0, total: undefined, counted: 40 })
    progress.end()
    expect(written).to.deep.equal(['reconcile  30 records, 3/s\n'])
  })
})
