/**
 * Asks until it is so, seldom enough for any server's limit of requests a minute; the suite's own
 * time limit ends a wait for what never comes.
 */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((later) => setTimeout(later, 70))
}
