/** The one set of icons, 24 by 24 and drawn by a line. Each is next to its word. */
const PATHS = {
  overview: 'M4 4h7v9H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 15h7v5H4z',
  transactions: 'M4 8h13l-3-3M20 16H7l3 3',
  batches: 'M12 3l9 5-9 5-9-5zM3 13l9 5 9-5',
  decisions: 'M12 3v18M5 7h14M5 7l-3 7h6zM19 7l-3 7h6z',
  deposits: 'M12 3v12l-5-5M12 15l5-5M4 20h16',
  mints: 'M12 21a9 9 0 100-18 9 9 0 000 18zM8 12h8M12 8v8',
  redeems: 'M12 21a9 9 0 100-18 9 9 0 000 18zM8 12h8',
  wires: 'M3 9l9-5 9 5zM6 9v8M18 9v8M3 20h18',
  alerts: 'M5 17v-6a7 7 0 0114 0v6zM10 21h4',
  disputes: 'M12 4l9 16H3zM12 10v4M12 17v.5',
  wallets: 'M4 7h16v12H4zM4 7l11-3v3M16 13h4',
  breaks: 'M9 15l-3 3a4 4 0 01-5-5l3-3M15 9l3-3a4 4 0 015 5l-3 3M9 3v3M3 9h3M15 21v-3M21 15h-3',
  runs: 'M4 12a8 8 0 0114-5l2 2M20 4v5h-5M20 12a8 8 0 01-14 5l-2-2M4 20v-5h5',
  signers: 'M4 20l4-1L19 8l-3-3L5 16zM14 7l3 3',
  providers: 'M4 4h16v6H4zM4 14h16v6H4zM8 7v.1M8 17v.1',
  webhooks: 'M12 8a4 4 0 10-3 4l-3 5M12 8l4 7h4M16 19a3 3 0 100-4M4 17a3 3 0 103 3h6',
  endpoints: 'M12 21a9 9 0 100-18 9 9 0 000 18zM12 16a4 4 0 100-8 4 4 0 000 8z',
  users: 'M9 11a4 4 0 100-8 4 4 0 000 8zM2 21a7 7 0 0114 0M16 4a4 4 0 010 7M18 15a7 7 0 014 6',
  keys: 'M8 15a4 4 0 104 4 4 4 0 00-4-4zM11 16L20 7M16 5l4 4M14 10l3 3',
  search: 'M11 18a7 7 0 100-14 7 7 0 000 14zM16 16l5 5',
  send: 'M21 3L3 11l7 3 3 7z',
  sun: 'M12 16a4 4 0 100-8 4 4 0 000 8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2',
  moon: 'M20 14A8 8 0 0110 4a8 8 0 1010 10z',
  system: 'M3 4h18v12H3zM8 20h8M12 16v4',
  clock: 'M12 21a9 9 0 100-18 9 9 0 000 18zM12 7v5l3 2',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 13l4 4L19 7',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
