import { concat, numberToHex, padHex, size, slice, type Hex } from 'viem'

/** One call of a contract, without a value. */
export type InnerCall = { to: Hex; data: Hex }

/** Code of a contract that makes these calls one after the other, whoever calls it. */
export function calling(calls: readonly InnerCall[]): Hex {
  return concat([
    ...calls.flatMap(({ to, data }) => [...storing(data), callOf(to, size(data))]),
    '0x00',
  ])
}

/** MSTORE each word of the data. */
function storing(data: Hex): Hex[] {
  const count = Math.ceil(size(data) / 32)
  return Array.from({ length: count }, (_, at) => {
    const end = Math.min(at * 32 + 32, size(data))
    const word = padHex(slice(data, at * 32, end), { dir: 'right', size: 32 })
    return concat(['0x7f', word, '0x61', numberToHex(at * 32, { size: 2 }), '0x52'])
  })
}

/** CALL with all the gas there is, and nothing of the answer. */
function callOf(to: Hex, bytes: number): Hex {
  return concat(['0x5f5f61', numberToHex(bytes, { size: 2 }), '0x5f5f73', to, '0x5af150'])
}
