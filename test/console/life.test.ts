import { expect } from 'chai'

import { explainPending, stepsOf } from '../../src/console/parts/timeline.ts'
import { judgeOverview } from '../../src/console/verdict.ts'
import type { OverviewWire } from '../../src/wire/group-b/admin.ts'

type Life = Parameters<typeof explainPending>[0]
type Attempt = NonNullable<Life['order']>['attempts'][number]

const at = (second: number): string => `2026-03-01T10:00:${String(second).padStart(2, '0')}.000Z`
const HASH = `0x${'ab'.repeat(32)}`

const attempt = (parts: Partial<Attempt> = {}): Attempt => ({
  eth_tx_hash: HASH,
  nonce: 7,
  kind: 'payment',
  state: 'final',
  gas: 60_000,
  max_fee_per_gas: 3_000_000_000,
  max_priority_fee_per_gas: 1,
  gas_used: 39_199,
  block_number: 12,
  block_hash: HASH,
  succeeded: true,
  created_at: at(1),
  sent_at: at(2),
  last_sent_at: at(2),
  last_answer: 'accepted',
  ...parts,
})

const life = (attempts: Attempt[], pendingReason: string | null = null): Life =>
  ({
    history: [
      { status: 'pending', previous_status: null, actor: 'user:1', reason: 'a', created_at: at(1) },
      {
        status: 'processing',
        previous_status: 'pending',
        actor: 'sender',
        reason: 'b',
        created_at: at(3),
      },
    ],
    order: { attempts },
    blockchain_transaction: { confirmations: 3, pending_reason: pendingReason },
  }) as unknown as Life

describe('the timeline of a transaction', () => {
  it('tells what happened in its order, and what only the chain dates after its cause', () => {
    const titles = stepsOf(life([attempt()])).map(({ title }) => title)
    expect(titles).to.deep.equal([
      'Recorded',
      'Payment signed',
      'Payment sent',
      'In a block',
      'Processing',
      'Final on chain',
    ])
  })

  it('has the end of a block behind its beginning where one look has found both', () => {
    const one = life([attempt()])
    const end = { status: 'completed', previous_status: 'processing', actor: 'sender', reason: 'c' }
    const history = [...one.history, { ...end, created_at: at(3) }]
    const titles = stepsOf({ ...one, history } as Life).map(({ title }) => title)
    expect(titles.slice(-4)).to.deep.equal([
      'In a block',
      'Processing',
      'Final on chain',
      'Completed',
    ])
  })

  it('has refunds at the time of their request, with what became of them', () => {
    const refund = { amount_decimal: '12.5', payer: null, error_code: null, created_at: at(2) }
    const refunds = [
      { ...refund, status: 'failed', error_code: 'card_expired' },
      { ...refund, status: 'completed', created_at: at(4) },
    ]
    const steps = stepsOf({ ...life([]), refunds, currency: 'USD' } as unknown as Life)
    expect(steps.map(({ title, detail, tone }) => [title, detail, tone]).slice(1)).to.deep.equal([
      ['Refund requested', '12.50 USD; failed: card expired', 'bad'],
      ['Processing', 'B, by sender', 'plain'],
      ['Refund requested', '12.50 USD; completed', 'good'],
    ])
  })

  it('says in words what a gateway calls a payment', () => {
    const detail = (reason: string): string => {
      const [move] = life([]).history
      return stepsOf({ ...life([]), history: [{ ...move!, actor: 'sender', reason }] })[0]!.detail
    }
    expect(detail('the gateway says UNDERPAID')).to.match(/^Less than the amount arrived, by/)
    expect(detail('the gateway says requires_action: card_declined')).to.equal(
      'The gateway reports requires action: card declined, by sender',
    )
    expect(detail('accepted by hand, DELAYED, 9 of 10 USD: it is WELL known')).to.equal(
      'Accepted by hand: the payment came after the time to pay, 9 of 10 USD: it is WELL known, ' +
        'by sender',
    )
  })

  it('leaves the name of another user to the screen', () => {
    const [first] = stepsOf({ ...life([]), user_id: 2, username: 'alice' })
    expect(first).to.include({ detail: 'A, by', by: 'user:1' })
    const [own] = stepsOf({ ...life([]), user_id: 1, username: 'alice' })
    expect(own).to.include({ detail: 'A, by alice', by: undefined })
  })

  it('tells a reverted and a superseded attempt apart', () => {
    const superseded = attempt({
      state: 'superseded',
      block_number: null,
      block_hash: null,
      gas_used: null,
      succeeded: null,
    })
    const reverted = attempt({ kind: 'cancel', succeeded: false, created_at: at(4), sent_at: null })
    const steps = stepsOf(life([superseded, reverted]))
    expect(steps.map(({ title }) => title)).to.include.members([
      'Payment superseded',
      'Cancellation signed',
      'Reverted on chain',
    ])
    expect(steps.at(-1)).to.include({ tone: 'bad' })
  })

  it('begins with the record, though a block counts in whole seconds', () => {
    const arrival = { paid_at: '2026-03-01T10:00:00.000Z', payer: HASH, amount_decimal: '1' }
    const paid = { ...life([]), arrivals: [arrival] } as unknown as Life
    expect(stepsOf(paid).map(({ title }) => title)).to.deep.equal([
      'Recorded',
      'Received on chain',
      'Processing',
    ])
  })

  it('says what the chain does not have any more, and what was opened about it', () => {
    const gone = {
      ...life([attempt()]),
      blockchain_transaction: { status: 'confirmed', confirmations: 0, pending_reason: null },
      disputed_by: [{ kind: 'alert', id: '1', reason: 'reorg_after_final', opened_at: at(9) }],
    } as unknown as Life
    expect(
      stepsOf(gone)
        .map(({ title, detail }) => [title, detail])
        .slice(-2),
    ).to.deep.equal([
      ['Final on chain', 'The chain does not have it now'],
      ['Alert: reorg after final', 'Opened, and open now'],
    ])
  })

  it('says why it is pending, also for a reason that is new to it', () => {
    expect(explainPending(life([], 'no_funds'))?.advice).to.match(/native coin/)
    expect(explainPending(life([], 'moon_phase'))?.reason).to.equal('Moon phase')
    expect(explainPending(life([]))).to.equal(undefined)
  })
})

describe('a payment that is not on the chain', () => {
  const outside = (parts: Partial<Life>, actor = 'user:1'): Life =>
    ({
      status: 'pending',
      history: [{ actor }],
      order: null,
      blockchain_transaction: null,
      gateway_id: null,
      institution_id: null,
      ...parts,
    }) as unknown as Life

  it('says for whom it waits', () => {
    expect(explainPending(outside({ gateway_id: 1 }))?.reason).to.include('payer')
    expect(explainPending(outside({ institution_id: 1 }))?.reason).to.include('bank')
    const atGateway = outside({ gateway_id: 3, status: 'processing' }, 'gateway:wallet_checkout')
    expect(explainPending(atGateway)?.reason).to.include('gateway')
    expect(explainPending(outside({ gateway_id: 1, status: 'failed' }))).to.equal(undefined)
  })

  it('is for people to decide where a checkout got less, more or late', () => {
    const undecided = outside({ gateway_id: 2, status: 'processing' }, 'gateway:crypto_checkout')
    expect(explainPending(undecided)).to.include({ isUndecided: true })
  })
})

const CALLS = { latency_ms: 9, answered_percent: 10, failures: 3 }

describe('the verdict of the overview', () => {
  const totals = { count: 2, amount_wei: '5', amount_decimal: '0.000000000000000005' }
  const overview = (parts: Partial<OverviewWire> = {}): OverviewWire =>
    ({
      claimed: totals,
      settled: totals,
      in_flight: { count: 0, oldest_seconds: 0, by_age: [] },
      head: { block_number: 1, final_number: null, updated_at: at(1) },
      alerts: [],
      providers: [],
      ...parts,
    }) as unknown as OverviewWire

  it('is good where all agrees', () => {
    expect(judgeOverview(overview())).to.include({ tone: 'good' })
  })

  it('is bad for a wei of difference, and for an alert', () => {
    const { tone, reasons } = judgeOverview(overview({ settled: { ...totals, amount_wei: '4' } }))
    expect(tone).to.equal('bad')
    expect(reasons).to.have.length(1)
    const alerts = [{ kind: 'reorg_after_final', count: 1, since: at(1) }]
    expect(judgeOverview(overview({ alerts }))).to.include({ tone: 'bad' })
  })

  it('promises nothing of what could not be read', () => {
    const { tone, sentence } = judgeOverview(overview(), { unread: ['list of breaks'] })
    expect(tone).to.equal('waiting')
    expect(sentence).not.to.include('agree')
  })

  it('points at payments that wait for people', () => {
    expect(judgeOverview(overview(), { undecided: 2 })).to.include({ tone: 'waiting' })
    expect(judgeOverview(overview(), { undecided: 0 })).to.include({ tone: 'good' })
  })

  it('points at what waits too long, and at a provider that is not well', () => {
    const late = { count: 1, oldest_seconds: 7200, by_age: [] }
    const providers = [{ name: 'node', state: 'failing' as const, score: 0, ...CALLS }]
    const { tone, reasons } = judgeOverview(overview({ in_flight: late, providers, head: null }))
    expect(tone).to.equal('waiting')
    expect(reasons).to.have.length(3)
  })
})
