import type { ChainNames } from '../domain/chains.ts'
import { RequestError } from '../wire/errors.ts'
import { refusal } from '../wire/group-a/money.ts'
import { invalidRequest } from './admission/checks.ts'

/** The chains that are served, each with what its operations need. */
export type Chains<Chain extends object = object> = {
  /** Those that are open now, the default one first. */
  all: () => readonly [Chain & ChainNames, ...(Chain & ChainNames)[]]
  /** Those that are configured and whose providers have not answered since the start. */
  waiting: () => readonly ChainNames[]
}

/** The one that a request names, the default one where it names none. */
export function chainNamed<Chain extends object>(
  chains: Chains<Chain>,
  name: string | undefined,
  field: 'chain' | 'query.chain' = 'chain',
): Chain & ChainNames {
  const all = chains.all()
  const found = name === undefined ? all[0] : all.find((chain) => chain.name === name)
  if (found !== undefined) return found
  const waiting = chains.waiting()
  if (waiting.some((chain) => chain.name === name)) throw notYet(name)
  const known = [...all, ...waiting].map((chain) => chain.name).join(', ')
  const message = `This chain is not served. Use one of these: ${known}.`
  throw invalidRequest([{ field, code: 'chain_unknown', message, value: name }])
}

/** The same by the code of Group A. */
export function chainCoded<Chain extends object>(
  chains: Chains<Chain>,
  { field, code }: { field: string; code: string | undefined },
): Chain & ChainNames {
  const all = chains.all()
  const found = all.find((chain) => chain.code === code)
  if (found !== undefined) return found
  const waiting = chains.waiting()
  if (waiting.some((chain) => chain.code === code)) throw notYet(code)
  const known = [...all, ...waiting].map((chain) => chain.code)
  const message = `This chain is not served. Send ${known.join(', ')}.`
  throw refusal({ field, code: 'enum', message, value: code, constraints: { enum: known } }, 2005)
}

/** The one on which something stands already; it may be served no more. */
export function chainOf<Chain extends object>(
  chains: Chains<Chain>,
  chainId: number,
): Chain & ChainNames {
  const found = chains.all().find((chain) => chain.chainId === chainId)
  if (found === undefined) throw notYet(String(chainId))
  return found
}

function notYet(name: string | undefined): RequestError {
  const message = `No provider of the chain ${name} answers now. Nothing was done. Try again later.`
  return new RequestError('unavailable', message, { headers: { 'retry-after': '5' } })
}

/** The ids of the chains that a list is wanted of: of the one that is named, or of all. */
export function wantedChain(
  chains: Chains,
  query: { chain?: string | undefined },
): number | undefined {
  const { chain } = query
  return chain === undefined ? undefined : chainNamed(chains, chain, 'query.chain').chainId
}
