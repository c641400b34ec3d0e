import type { Operating } from '../../src/app/console.ts'

/** What an operator sees of a process that has one provider, and proves nothing. */
export function operatingOf(parts: Partial<Operating> = {}): Operating {
  return {
    chainId: 31_337,
    providers: () => [{ name: 'node.example', state: 'well', score: 100 }],
    provePayment: () => Promise.resolve({ problem: 'nothing is proven here' }),
    signal: new AbortController().signal,
    ...parts,
  }
}
