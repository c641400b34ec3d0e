/** A number as nodes write it, from 0 to 2^256 - 1; undefined for anything else. */
export function parseQuantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)
    ? BigInt(value)
    : undefined
}

export function toQuantity(value: bigint | number): `0x${string}` {
  return `0x${value.toString(16)}`
}
