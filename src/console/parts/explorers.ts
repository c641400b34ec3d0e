/** Where anybody can look at a transaction, for chains that have such a place. */
const EXPLORERS: ReadonlyMap<number, string> = new Map([
  [1, 'https://etherscan.io'],
  [10, 'https://optimistic.etherscan.io'],
  [100, 'https://gnosisscan.io'],
  [137, 'https://polygonscan.com'],
  [8453, 'https://basescan.org'],
  [42_161, 'https://arbiscan.io'],
  [84_532, 'https://sepolia.basescan.org'],
  [421_614, 'https://sepolia.arbiscan.io'],
  [11_155_111, 'https://sepolia.etherscan.io'],
  [11_155_420, 'https://sepolia-optimism.etherscan.io'],
])

export function explorerOf(chainId: number | undefined, hash: string): string | undefined {
  const place = chainId === undefined ? undefined : EXPLORERS.get(chainId)
  return place && `${place}/tx/${hash}`
}
