import { check, plainProvider } from 'quittance/verify'

const file = document.getElementById('file') as HTMLInputElement
const node = document.getElementById('node') as HTMLInputElement
const answer = document.getElementById('answer') as HTMLElement

file.addEventListener('change', () => void checkFile())

async function checkFile(): Promise<void> {
  const chosen = file.files?.[0]
  if (chosen === undefined) return
  answer.textContent = 'Asking the node …'
  const bytes = new Uint8Array(await chosen.arrayBuffer())
  const providers = [plainProvider(node.value)]
  const { status, evidence, disagreements } = await check(bytes, { providers, confirmations: 2 })
  const reasons = disagreements.map(({ message }) => message).join(' ')
  const paid = `${evidence?.amountText} to ${evidence?.payment?.payee}`
  answer.textContent = status === 'holds' ? `Proven: ${paid}.` : `${status}: ${reasons}`
}
