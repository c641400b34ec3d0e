import { ask, countStatuses, wrongsIn, type Answer, type Question } from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Payer } from './platform.ts'

const KEYS = 10

/** One key in each group, and twice: what it names in one group is nothing in the other. */
export const sameKey: Attack = {
  name: 'same-key',
  about: 'uses one idempotency key in /api and in /v1, for payments and for transfers',
  async run() {
    const platform = await startPlatform({ payers: 1, roles: ['up'] })
    try {
      const { url, payers } = platform
      const pairs = [
        ['payments', paymentsOf(payers[0]!)],
        ['transfers', transfersOf(payers[0]!)],
      ] as const
      const results: AttackResult[] = []
      for (const [what, questions] of pairs) results.push(await collide(url, what, questions))
      return results
    } finally {
      await platform.stop()
    }
  },
}

async function collide(
  url: string,
  what: string,
  questions: readonly Question[],
): Promise<AttackResult> {
  const answers: Answer[] = []
  const ids = new Set<string>()
  let [replayed, unlike] = [0, 0]
  for (let count = 0; count < KEYS; count++) {
    const idempotencyKey = `same-${what}-${count}`
    for (const question of questions) {
      const first = await ask(url, { ...question, idempotencyKey })
      const second = await ask(url, { ...question, idempotencyKey })
      answers.push(first, second)
      if (first.headers.has('idempotent-replayed')) replayed += 1
      if (idOf(first) !== idOf(second)) unlike += 1
      ids.add(idOf(first))
    }
  }
  const refused = answers.filter(({ status }) => status !== 201).length
  const wanted = KEYS * questions.length
  return {
    tried: `${KEYS} keys for ${what} in both groups, each of them twice`,
    count: answers.length,
    outcome: `${countStatuses(answers)}, ${ids.size} ${what} made`,
    wrong: wrongsIn([
      [refused > 0, `${refused} were refused, such as ${errorOf(answers)}`],
      [replayed > 0, `${replayed} got the answer of the other group`],
      [unlike > 0, `${unlike} did twice what one key names`],
      [ids.size !== wanted, `${ids.size} were made in place of ${wanted}`],
    ]),
  }
}

function idOf({ body }: Answer): string {
  const { transaction_id: transactionId, data } = body as {
    transaction_id?: string
    data?: { id: string }
  }
  return transactionId ?? data?.id ?? ''
}

function errorOf(answers: readonly Answer[]): string {
  return answers.find(({ status }) => status !== 201)?.text.slice(0, 200) ?? ''
}

function paymentsOf({ key, from }: Payer): Question[] {
  const checkout = { gateway_id: 1, amount: '12', currency: 'USD', description: 'Two books' }
  const wire = {
    amount: '1',
    source: { type: 'wallet', id: from },
    destination: {
      type: 'wire',
      name: 'Ada Lovelace',
      addressLine1: '12 St James Square',
      accountNumber: '987654321',
      routingNumber: '101050001',
    },
  }
  return [
    { path: '/api/payments', key, body: checkout },
    { path: '/v1/payments', key, body: wire },
  ]
}

function transfersOf({ key, from, to }: Payer): Question[] {
  const wire = {
    institution_id: 1,
    amount: '1',
    currency: 'USD',
    description: 'Two books',
    recipient_info: { account_number: '987654321', routing_number: '101050001' },
  }
  const own = {
    source: { type: 'wallet', id: from },
    destination: { type: 'wallet', id: to },
    amount: '1',
  }
  return [
    { path: '/api/transfers', key, body: wire },
    { path: '/v1/transfers', key, body: own },
  ]
}
