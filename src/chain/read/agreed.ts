import { BaseError } from '../../base/errors.ts'
import { readFrom } from '../answers.ts'
import { campsOf, heardOf, type Answers } from '../quorum.ts'
import type { RpcCall } from '../rpc/provider.ts'
import type { Providers } from '../rpc/providers.ts'

/** What one provider answers; an answer that cannot be read names it. */
export async function askOne<T>(
  { ask }: Pick<Providers, 'ask'>,
  call: RpcCall,
  read: (result: unknown) => T,
): Promise<T> {
  const { result, provider } = await ask(call)
  return readFrom({ value: result, provider }, read)
}

export async function askAgreed<T>(
  providers: Pick<Providers, 'askAll'>,
  { call, read }: { call: RpcCall; read: (result: unknown) => T },
): Promise<T> {
  const { told, failed } = await providers.askAll(call)
  const seen = told.map((answer) => ({ ...answer, value: readFrom(answer, read) }))
  return agreed({ told: seen, failed })
}

/** What all that answer say alike: here one that says otherwise is reason enough to stop. */
export function agreed<T>(answers: Answers<T>): T {
  const values = heardOf(answers).told.map(({ value }) => value)
  if (campsOf(values).length > 1) throw new ProvidersDifferError()
  return values[0] as T
}

export class ProvidersDifferError extends BaseError {
  constructor() {
    super('The providers contradict each other about final blocks. One lags or lies: check them.', {
      code: 'providers_differ',
      retryable: true,
    })
  }
}
