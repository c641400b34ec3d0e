import { useState } from 'preact/hooks'

import { useChains } from '../context.ts'
import { Choice } from './parts.tsx'

/** A choice of the chain where there are several. Nobody has chosen the default one. */
export function useChainChoice() {
  const chains = useChains()
  const [chain, choose] = useState<string>()
  const options = chains.map((one) => one.chain)
  const choice = chains.length > 1 && (
    <Choice
      name="chain"
      title="Chain"
      options={options}
      value={chain ?? options[0]}
      any={false}
      isCode
      onChange={choose}
    />
  )
  const found = chains.find((one) => one.chain === chain) ?? chains[0]
  return { chain, choice, code: found?.code ?? 'ETH' }
}
