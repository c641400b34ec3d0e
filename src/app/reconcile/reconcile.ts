import type { Finality } from '../../base/chains/config.ts'
import { BaseError } from '../../base/errors.ts'
import { parseAddress, type Hex } from '../../chain/hex.ts'
import type { ReportJson } from '../../reconciler/reports/json.ts'
import { createRowSource, type PaymentRow } from '../../reconciler/sources/rows.ts'
import { openSource, reconcileSource } from './source.ts'

/** A token of the records, and the currency that they call it by. */
export type RecordsToken = { address: string; currency?: string | undefined }

/** How far a run is: `total` is undefined where the source does not say how much there is. */
export type ReconcileProgress = { done: number; total: number | undefined; counted: number }

/** Which records to compare with which chain. */
export type ReconcileOptions = {
  /**
   * The path of a CSV or of JSON lines, the address of a server of Group B, or the records
   * themselves: objects with the names of the columns of a CSV.
   */
  source: string | Iterable<PaymentRow> | AsyncIterable<PaymentRow>
  /** The nodes. Of several, most have to agree before a break is reported. */
  rpcUrls: readonly string[]
  /** The key of the server, with the scope `read`. */
  apiKey?: string | undefined
  /** The name of a chain, where a server serves several. */
  chain?: string | undefined
  /** Absent: what the nodes say. */
  chainId?: number | undefined
  /** When a block is final: a tag of the chain, or a number of blocks. Default: 12. */
  confirmations?: Finality | undefined
  /** The settlement contract; absent: it is not looked for in payments. */
  settlement?: string | undefined
  /** The tokens of the records. One without a currency is USD, and has its own symbol as well. */
  tokens?: readonly RecordsToken[] | undefined
  /** Only records that were created at this time or later. */
  since?: Date | undefined
  /** Only records that were created before this time. */
  until?: Date | undefined
  /** How long a transaction can be in progress. Default: 60. */
  graceMinutes?: number | undefined
  /** A folder for breaks.csv, report.json and report.html, and for the progress of the run. */
  out?: string | undefined
  /** Continues the run that stopped in that folder. A run over rows begins anew. */
  resume?: boolean | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: ReconcileProgress) => void) | undefined
}

/**
 * Compares each record with the chain, without a database. Memory does not grow with the records.
 * The report has the first 100,000 breaks; `out` has a CSV of all.
 *
 * @example
 *   ```ts
 *   import { reconcile } from 'quittance/reconcile'
 *
 *   const report = await reconcile({ source: 'payments.csv', rpcUrls: ['http://127.0.0.1:8545'] })
 *   console.log(report.summary.matched, report.summary.breaks)
 *   for (const { kind, transaction_id: id } of report.breaks) console.log(kind, id)
 *   ```
 */
export async function reconcile(options: ReconcileOptions): Promise<ReportJson> {
  const { source, apiKey, chain, since, until, out, resume = false } = options
  const isNamed = typeof source === 'string'
  const settlement = options.settlement === undefined ? undefined : addressOf(options.settlement)
  if (resume && (out === undefined || !isNamed)) throw new NotResumableError()
  return reconcileSource({
    source: isNamed
      ? openSource(source, { sourceKey: apiKey, chain, since, until })
      : createRowSource(source),
    urls: options.rpcUrls,
    chainId: options.chainId,
    confirmations: options.confirmations ?? DEFAULT_CONFIRMATIONS,
    graceMs: (options.graceMinutes ?? DEFAULT_GRACE_MINUTES) * 60_000,
    contractsOn: () => ({ settlement, stablecoin: undefined }),
    tokens: options.tokens?.map(({ address, currency }) => {
      return { address: addressOf(address), currency }
    }),
    since,
    until,
    out,
    isResumed: resume,
    signal: options.signal ?? new AbortController().signal,
    onProgress: options.onProgress ?? (() => undefined),
  })
}

const DEFAULT_CONFIRMATIONS = 12
const DEFAULT_GRACE_MINUTES = 60

function addressOf(text: string): Hex {
  const address = parseAddress(text)
  if (address !== undefined) return address
  throw new BaseError(
    `${text} is not an address: it needs 0x and 40 hexadecimal digits, with a correct checksum.`,
    { code: 'address_invalid' },
  )
}

class NotResumableError extends BaseError {
  constructor() {
    super(
      'A run continues in its folder, over the same file or server. Set `out` to the folder of ' +
        'the run that stopped, or leave out `resume`.',
      { code: 'not_resumable' },
    )
  }
}
