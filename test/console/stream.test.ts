import { expect } from 'chai'

import { ApiFailure } from '../../src/console/api.ts'
import { createEventParser, followStream, type Connection } from '../../src/console/stream.ts'

const event = (id: string) => `id: ${id}\ndata: {"transaction_id":"TX${id}"}\n\n`

/** Answers one call after the other; a text is a body that then breaks off. */
function scripted(answers: readonly (string | Error)[]) {
  const asked: (string | undefined)[] = []
  return {
    asked,
    open: async (_path: string, { headers }: { headers: Record<string, string> }) => {
      const answer = answers[asked.length]
      asked.push(headers['last-event-id'])
      if (answer instanceof Error) throw answer
      return new Response(answer ?? '')
    },
  }
}

async function follow(answers: readonly (string | Error)[]) {
  const api = scripted(answers)
  const stop = new AbortController()
  const seen: string[] = []
  const states: Connection['state'][] = []
  await followStream({
    api: {
      open: async (path, options) => {
        if (api.asked.length === answers.length) stop.abort()
        return api.open(path, options)
      },
    },
    onEvent: ({ transaction_id: id }) => seen.push(id ?? ''),
    onConnection: ({ state }) => states.push(state),
    signal: stop.signal,
    pauses: { firstMs: 1, mostMs: 2, silenceMs: 5000 },
  })
  return { seen, states, asked: api.asked }
}

describe('the stream of the console', () => {
  it('reads events however they are cut into pieces', () => {
    const text = `: still here\nid: 7\n\n${event('8')}`
    for (const size of [1, 3, 1000]) {
      const { feed } = createEventParser()
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      expect(pieces.flatMap(feed)).to.deep.equal([
        { id: '7', data: '' },
        { id: '8', data: '{"transaction_id":"TX8"}' },
      ])
    }
  })

  it('goes on after the last event when the connection breaks, and says so', async () => {
    const lost = new ApiFailure('gone', { status: 0, code: 'unreachable' })
    const { seen, states, asked } = await follow([event('1') + event('2'), lost, event('3')])
    expect(seen).to.deep.equal(['TX1', 'TX2', 'TX3'])
    expect(asked.slice(0, 3)).to.deep.equal([undefined, '2', '2'])
    expect(states.slice(0, 4)).to.deep.equal(['live', 'live', 'lost', 'live'])
  })

  it('begins anew where the platform does not know the place any more', async () => {
    const unknown = new ApiFailure('bad cursor', { status: 400, code: 'invalid_request' })
    const { asked } = await follow([event('1'), unknown, event('2')])
    expect(asked.slice(0, 3)).to.deep.equal([undefined, '1', undefined])
  })

  it('ends where the session has', async () => {
    const { asked } = await follow([new ApiFailure('over', { status: 401, code: 'unauthorized' })])
    expect(asked).to.have.length(1)
  })
})
