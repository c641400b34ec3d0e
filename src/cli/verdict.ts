import { couldNotAsk, type Verdict } from '../verify/verdict.ts'
import { EXIT, formatPairs, type Output } from './output.ts'

/**
 * Prints a verdict and tells its exit code. What is pending does not hold yet, so a script that
 * goes on only after 0 waits; what nobody could be asked about could not run.
 */
export function printVerdict(verdict: Verdict, output: Output): number {
  output.result(verdictJson(verdict))
  output.line(TITLES[verdict.status])
  for (const { kind, message } of verdict.disagreements) output.line(`  ${kind}: ${message}`)
  const pairs = evidencePairs(verdict)
  if (pairs.length > 0) output.line(`\n${formatPairs(pairs)}`)
  for (const { provider, kind, message } of verdict.complaints) {
    output.line(`\n${provider} ${kind.replaceAll('_', ' ')}: ${message}`)
  }
  for (const line of profileLines(verdict)) output.line(line)
  if (verdict.caveats.length > 0) output.line('\nNot covered:')
  for (const caveat of verdict.caveats) output.line(`  ${caveat}`)
  if (couldNotAsk(verdict)) return EXIT.cannotRun
  return verdict.status === 'holds' ? EXIT.holds : EXIT.disagrees
}

/** What can be proven of this kind of token, and what cannot. */
function profileLines({ profile }: Verdict): string[] {
  if (profile === undefined) return []
  const { title, mint, redeem } = profile
  return [`\nWhat ${title} can prove:`, `  a mint: ${mint}`, `  a redeem: ${redeem}`]
}

/** JSON has no bigint; amounts and numbers of blocks are strings there. */
function verdictJson(verdict: Verdict): unknown {
  return JSON.parse(
    JSON.stringify(verdict, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
  )
}

const TITLES = {
  holds: 'It holds.',
  pending: 'It is pending: nothing contradicts it, but not everything is proven yet.',
  disagrees: 'It does not hold.',
} as const

function evidencePairs({ evidence }: Verdict): (readonly [string, string])[] {
  if (evidence === undefined) return []
  const { block, transaction, payment, agreeing, confirmations } = evidence
  return [
    ['transaction', transaction.hash],
    ['block', `${block.number} at ${block.time}`],
    ['block hash', block.hash],
    ...(confirmations === undefined ? [] : [['confirmations', String(confirmations)] as const]),
    ['confirmed by', agreeing.join(', ') || 'nobody'],
    ...(payment === undefined
      ? []
      : ([
          ['payment', payment.kind],
          ['payer', payment.payer ?? 'none'],
          ['payee', payment.payee ?? 'none'],
          ['amount', evidence.amountText ?? String(payment.amount)],
          ['token', payment.token ?? 'native coin'],
          ['logged by', payment.contract ?? 'the transaction itself'],
          ['reference', payment.reference ?? 'none'],
          ...(payment.minter === null ? [] : [['minter', payment.minter] as const]),
        ] as const)),
  ]
}
