export type Group = 'a' | 'b'

/** Group A lives below /v1, and answers /ping; everything else speaks as Group B does. */
export function groupOf(url: string): Group {
  return /^\/(?:v1|ping)(?:[/?]|$)/.test(url) ? 'a' : 'b'
}
