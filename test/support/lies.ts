import type { Lie } from './verify.ts'

type Shown = Record<string, unknown>

/** What a hostile node may say, each by a name; the payment in question stands at place 0. */
export const LIES: Readonly<Record<string, Lie>> = {
  'a failed receipt shown as a success': inReceipts((receipt) => {
    receipt['status'] = receipt['status'] === '0x1' ? '0x0' : '0x1'
  }),
  'another amount in a log': inLog((log) => {
    log['data'] = String(log['data']).replace(/.$/, '9')
  }),
  'another contract of a log': inLog((log) => {
    log['address'] = `0x${'22'.repeat(20)}`
  }),
  'another reference in a log': inTopics((topics) => topics.with(1, `0x${'cd'.repeat(32)}`)),
  'another payee in a log': inTopics((topics) =>
    topics.with(3, `0x${'0'.repeat(24)}${'33'.repeat(20)}`),
  ),
  'another event of a log': inTopics((topics) => topics.with(0, `0x${'ee'.repeat(32)}`)),
  'a topic less': inTopics((topics) => topics.slice(0, -1)),
  'a log left out': inReceipts((receipt) => {
    receipt['logs'] = []
  }),
  'a log more': inReceipts((receipt) => {
    const logs = receipt['logs'] as unknown[]
    receipt['logs'] = [...logs, ...logs]
  }),
  'a log marked as removed': inLog((log) => {
    log['removed'] = true
  }),
  'a log of another transaction': inLog((log) => {
    log['transactionHash'] = `0x${'44'.repeat(32)}`
  }),
  'another bloom': inReceipts((receipt) => {
    receipt['logsBloom'] = `0x${'ff'.repeat(256)}`
  }),
  'less gas in sum': inReceipts((receipt) => {
    receipt['cumulativeGasUsed'] = '0x1'
  }),
  'less gas by itself': inReceipts((receipt) => {
    receipt['gasUsed'] = '0x1'
  }),
  'another sender beside a receipt': inReceipts((receipt) => {
    receipt['from'] = `0x${'55'.repeat(20)}`
  }),
  'another block beside a receipt': inReceipts((receipt) => {
    receipt['blockNumber'] = '0x1'
  }),
  'a receipt of another type': inReceipts((receipt) => {
    receipt['type'] = receipt['type'] === '0x2' ? '0x1' : '0x2'
  }),
  'no receipts': inAnswerOf('eth_getBlockReceipts', () => []),
  'receipts twice': inAnswerOf('eth_getBlockReceipts', (receipts) => [
    ...(receipts as unknown[]),
    ...(receipts as unknown[]),
  ]),
  'receipts that are no receipts': inAnswerOf('eth_getBlockReceipts', () => ['<html>']),
  'another value of the transaction': inTransaction((transaction) => {
    transaction['value'] = '0x9999'
  }),
  'another recipient of the transaction': inTransaction((transaction) => {
    transaction['to'] = `0x${'66'.repeat(20)}`
  }),
  'another sender of the transaction': inTransaction((transaction) => {
    transaction['from'] = `0x${'77'.repeat(20)}`
  }),
  'another call of the transaction': inTransaction((transaction) => {
    transaction['input'] = '0x1234'
  }),
  'another nonce of the transaction': inTransaction((transaction) => {
    transaction['nonce'] = '0x77'
  }),
  'another place of the transaction': inTransaction((transaction) => {
    transaction['transactionIndex'] = '0x5'
  }),
  'another block number of the transaction': inTransaction((transaction) => {
    transaction['blockNumber'] = '0x1'
  }),
  'a block without the transaction': inBlock((block) => {
    block['transactions'] = []
  }),
  'another receipts root': inBlock((block) => {
    block['receiptsRoot'] = `0x${'88'.repeat(32)}`
  }),
  'another transactions root': inBlock((block) => {
    block['transactionsRoot'] = `0x${'99'.repeat(32)}`
  }),
  'another time of the block': inBlock((block) => {
    block['timestamp'] = '0x1'
  }),
  'another number of the block': inBlock((block) => {
    block['number'] = '0x7fffffff'
  }),
  'another hash of the block': inBlock((block) => {
    block['hash'] = `0x${'aa'.repeat(32)}`
  }),
  'another state root': inBlock((block) => {
    block['stateRoot'] = `0x${'bb'.repeat(32)}`
  }),
  'a field less in the header': inBlock((block) => {
    delete block['receiptsRoot']
  }),
  'a newest block that is far ahead': ({ method, params }, answer) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest') return answer
    return { ...(answer as Shown), number: '0xffffff' }
  },
  'text in place of a block': inAnswerOf('eth_getBlockByHash', () => '<html></html>'),
  'another block than asked for': inAnswerOf('eth_getBlockByHash', (answer) => ({
    ...(answer as Shown),
    parentHash: `0x${'cc'.repeat(32)}`,
  })),
  'a chain id that is no number': inAnswerOf('eth_chainId', () => 'mainnet'),
}

function inAnswerOf(method: string, change: (answer: unknown) => unknown): Lie {
  return (call, answer) => (call.method === method ? change(answer) : answer)
}

function inReceipts(change: (receipt: Shown) => void): Lie {
  return inAnswerOf('eth_getBlockReceipts', (answer) => {
    for (const receipt of answer as Shown[]) change(receipt)
    return answer
  })
}

function inLog(change: (log: Shown) => void): Lie {
  return inReceipts((receipt) => {
    for (const log of receipt['logs'] as Shown[]) change(log)
  })
}

function inTopics(change: (topics: string[]) => string[]): Lie {
  return inLog((log) => {
    log['topics'] = change(log['topics'] as string[])
  })
}

function inTransaction(change: (transaction: Shown) => void): Lie {
  return inAnswerOf('eth_getTransactionByHash', (answer) => {
    change(answer as Shown)
    return answer
  })
}

function inBlock(change: (block: Shown) => void): Lie {
  return ({ method }, answer) => {
    if (method.startsWith('eth_getBlockBy')) change(answer as Shown)
    return answer
  }
}
