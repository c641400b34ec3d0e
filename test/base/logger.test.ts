import { expect } from 'chai'

import { createLogger } from '../../src/base/logger.ts'

describe('createLogger', () => {
  it('writes one JSON object a line, with time and level by name', () => {
    const [line] = linesOf((logger) => logger.info({ orderId: 'TX1' }, 'accepted'))
    expect(line).to.include({ level: 'info', orderId: 'TX1', msg: 'accepted' })
    expect(line?.['time']).to.match(/^\d{4}-\d\d-\d\dT.*Z$/)
  })

  it('strikes out secrets, also in nested objects and headers', () => {
    const canary = 'CANARY'
    const text = JSON.stringify(
      linesOf((logger) => {
        logger.info({ password: canary, request: { apiKey: canary } })
        logger.info({ req: { headers: { authorization: canary, 'x-api-key': canary } } })
        logger.info({ signer: { mnemonic: canary, privateKey: canary }, token: canary })
      }),
    )
    expect(text).not.to.include(canary)
    expect(text).to.include('[redacted]')
  })

  it('strikes out secrets in errors, lists and what a child is made with', () => {
    const canary = 'CANARY'
    const secrets = Object.assign(new Error('failed'), { details: { password: canary } })
    const text = JSON.stringify(
      linesOf((logger) => {
        logger.error(secrets)
        logger.error({ err: secrets, list: [{ token: canary }], at: new Date(0) })
        logger.info({ failures: [secrets], a: { b: { c: { d: { e: { f: { g: canary } } } } } } })
        logger.child({ apiKey: canary }).child({ token: canary }).info('made')
      }),
    )
    expect(text).not.to.include(canary)
    expect(text)
      .to.include('failed')
      .and.include('1970-01-01T00:00:00.000Z')
      .and.include('"type":"Error"')
  })

  it('is silent below its level', () => {
    expect(linesOf((logger) => logger.debug('hidden'))).to.deep.equal([])
  })
})

function linesOf(work: (logger: ReturnType<typeof createLogger>) => void) {
  const lines: Array<Record<string, unknown>> = []
  const write = (line: string): void => void lines.push(JSON.parse(line))
  work(createLogger({ level: 'info', destination: { write } }))
  return lines
}
