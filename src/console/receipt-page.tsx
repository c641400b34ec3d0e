import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { checksummed } from '../verify/checksum.ts'
import type { ReceiptFactsWire } from '../wire/group-b/admin.ts'
import { useAct } from './act.ts'
import { ApiFailure, reach, readFailure } from './api.ts'
import { nodeAt, readAddress } from './node.ts'
import { groupDigits } from './parts/format.ts'
import { Amount, Copy, Facts, Failure, Foreign, Loading, Time } from './parts/parts.tsx'
import {
  checkReceipt,
  formatShown,
  OPEN_STEPS,
  shownBy,
  type Checked as Found,
  type ReceiptStep,
} from './receipt-steps.ts'

type Loaded = { facts: ReceiptFactsWire; file: string }

/** What the file says. The steps check whether it is so. */
type Said = {
  chainId: string
  block: { number: string; hash: string; time: string }
  transaction: { hash: string }
  payment: {
    payer: string | null
    payee: string | null
    token: string | null
    reference: string | null
  }
}

/** A payment, and the means to verify it without trust in who sent this page. */
export function ReceiptPage({ path }: { path: string }) {
  const [loaded, setLoaded] = useState<Loaded>()
  const [error, setError] = useState<unknown>()
  const load = (): void => {
    setError(undefined)
    void loadReceipt(path).then(setLoaded).catch(setError)
  }
  useEffect(load, [path])
  return (
    <main class="receipt">
      {error !== undefined && <Failure error={error} retry={load} />}
      {!loaded && error === undefined && <Loading what="the receipt" />}
      {loaded && <Receipt {...loaded} path={path} />}
    </main>
  )
}

async function loadReceipt(path: string): Promise<Loaded> {
  const [facts, file] = await Promise.all([
    open(`${path}/receipt.json`).then((answer) => answer.json() as Promise<ReceiptFactsWire>),
    open(`${path}/quittance.json`).then((answer) => answer.text()),
  ])
  return { facts, file }
}

/** The reader is not an operator: a failure says what to do. */
async function open(path: string): Promise<Response> {
  const answer = await reach(path, {})
  if (answer.ok) return answer
  const { status, code, requestId } = await readFailure(answer)
  const sentence =
    status === 404
      ? 'This receipt does not exist. Ask the sender for a new address.'
      : 'The receipt cannot be shown now. Try again in a moment.'
  throw new ApiFailure(sentence, { status, code, requestId })
}

function Receipt({ facts, file, path }: Loaded & { path: string }) {
  const said = JSON.parse(file) as Said
  const { payer } = said.payment
  const payee = facts.paid?.to_address ?? said.payment.payee
  const token = facts.paid ? facts.paid.token : said.payment.token
  const reference = facts.paid ? facts.paid.reference : said.payment.reference
  return (
    <>
      <header>
        <p class="faint">Receipt</p>
        <h1>
          <Amount decimal={facts.amount_decimal} currency={facts.currency} />
        </h1>
        <p>
          <Foreign text={facts.description} />
        </p>
      </header>
      {facts.status === 'refunded' && (
        <p class="verdict waiting">This payment was refunded later, by another payment.</p>
      )}
      <section class="panel" aria-label="The payment">
        <Facts
          rows={[
            address('Paid to', payee),
            address('Paid by', payer),
            ...partOf(facts),
            ...(token === null ? [] : [address('Token', token)]),
            ...(reference === null ? [] : [row('Reference', reference)]),
            ['Time of the block', <Time iso={said.block.time} />],
            ['Block', `${groupDigits(said.block.number)} of chain ${said.chainId}`],
            row('Transaction', said.transaction.hash),
            row('Recorded as', facts.transaction_id),
          ]}
        />
      </section>
      <Verification facts={facts} file={file} />
      <p class="buttons">
        <a class="button" href={`${path}/quittance.json`} download>
          Download the quittance
        </a>
        <button type="button" onClick={() => print()}>
          Print
        </button>
      </p>
      <p class="faint small">
        The quittance is one file that proves this payment to anyone, without this page and without
        the sender: <code>quittance check FILE</code> reads it anywhere.
      </p>
    </>
  )
}

function row(name: string, value: string): [string, ComponentChildren] {
  const label = <span class="hidden">{name.toLowerCase()}</span>
  const copy = (
    <Copy value={value} isNamed={false}>
      {label}
    </Copy>
  )
  return [
    name,
    <>
      <code>{value}</code> {copy}
    </>,
  ]
}

/** With its checksum, by which a wallet sees a typing error. */
function address(name: string, value: string | null): [string, ComponentChildren] {
  return value === null ? [name, 'not stated'] : row(name, checksummed(value))
}

/** A receipt proves one transaction, which may have paid a part, or more than was due. */
function partOf(facts: ReceiptFactsWire): [string, ComponentChildren][] {
  const shown = shownBy(facts)
  const isWhole = shownBy({ ...facts, paid: null }).amount === shown.amount
  return isWhole ? [] : [['Paid by this transaction', formatShown(shown)]]
}

/** Final after so many blocks on a chain that is not one's own laptop's. */
const CONFIRMATIONS = 12

type Checked = Found & { source: string }

function Verification({ facts, file }: Loaded) {
  const [address, setAddress] = useState(facts.rpc_url ?? '')
  const [other, setOther] = useState<File>()
  const [checked, setChecked] = useState<Checked>()
  const { act, isBusy, error } = useAct()
  const node = readAddress(address)
  const verify = async (): Promise<void> => {
    if (node === undefined) return
    setChecked(undefined)
    const found = await checkReceipt({
      file: other ? await textOf(other) : file,
      shown: shownBy(facts),
      node: nodeAt(node),
      confirmations: facts.rpc_url === null ? CONFIRMATIONS : 1,
    })
    setChecked({ ...found, source: other?.name ?? 'This receipt' })
  }
  const choose = (picked: File | undefined): void => {
    setChecked(undefined)
    setOther(picked)
  }
  const steps = checked?.steps ?? OPEN_STEPS
  return (
    <section class="panel verification" aria-labelledby="verify">
      <h2 id="verify">Verify it yourself</h2>
      <p class="faint">
        Your browser checks the proof, and asks a node of your choice whether it knows the block.
      </p>
      <NodeForm {...{ address, setAddress, choose, isBusy }} onSubmit={() => act(verify)} />
      {error !== undefined && <Failure error={error} />}
      <Steps steps={steps} />
      <div role="status">
        {checked && <Outcome {...checked} />}
        {checked && <Caveats {...checked} />}
      </div>
    </section>
  )
}

type NodeFormProps = {
  address: string
  setAddress: (address: string) => void
  choose: (file: File | undefined) => void
  isBusy: boolean
  onSubmit: () => void
}

function NodeForm({ address, setAddress, choose, isBusy, onSubmit }: NodeFormProps) {
  const isWrong = address !== '' && readAddress(address) === undefined
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <label>
        Ethereum node
        <input
          type="url"
          required
          value={address}
          placeholder="https://…"
          aria-invalid={isWrong}
          onInput={(event) => setAddress(event.currentTarget.value)}
        />
      </label>
      {isWrong && (
        <p class="failure">Use an address that begins with https://, or a node of this machine.</p>
      )}
      <label>
        Another quittance than this receipt’s
        <input
          type="file"
          accept=".json,application/json"
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      </label>
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? 'Verifying …' : 'Verify'}
      </button>
    </form>
  )
}

function Steps({ steps }: { steps: readonly ReceiptStep[] }) {
  return (
    <ol class="steps">
      {steps.map((step) => (
        <li key={step.name} class={step.state}>
          <p class="title">
            <span class="mark" aria-hidden="true" />
            {step.name}
            <span class="hidden">: {STATES[step.state]}</span>
          </p>
          <p class="faint">{step.found === '' ? step.meaning : step.found}</p>
        </li>
      ))}
    </ol>
  )
}

/** A file that was chosen may be gone, or changed, by the time it is read. */
async function textOf(file: File): Promise<string> {
  try {
    return await file.text()
  } catch (cause) {
    const sentence = 'The file can no longer be read. Choose it again.'
    throw new ApiFailure(sentence, { status: 0, code: 'unreadable', cause })
  }
}

const STATES: Readonly<Record<ReceiptStep['state'], string>> = {
  open: 'not checked',
  holds: 'holds',
  waits: 'open',
  fails: 'fails',
}

/** What the proof does not cover. */
function Caveats({ caveats }: Checked) {
  if (caveats.length === 0) return null
  return (
    <>
      <p>The proof does not cover everything:</p>
      <ul class="caveats">
        {caveats.map((caveat) => (
          <li key={caveat}>
            <Foreign text={caveat} />
          </li>
        ))}
      </ul>
    </>
  )
}

function Outcome({ steps, source }: { steps: readonly ReceiptStep[]; source: string }) {
  const failed = steps.find(({ state }) => state === 'fails')
  if (failed?.fault === 'node') {
    return (
      <p class="verdict waiting">
        <strong>Your node is at fault.</strong> It serves another chain, or contradicts itself.{' '}
        <Foreign text={source} /> may still be right: ask another node.
      </p>
    )
  }
  if (failed) {
    return (
      <p class="verdict bad">
        <strong>Refused.</strong> <Foreign text={source} /> does not prove this payment, so it is
        wrong. Ask the sender for the right one.
      </p>
    )
  }
  return steps.every(({ state }) => state === 'holds') ? (
    <p class="verdict good">
      <strong>It holds.</strong> <Foreign text={source} /> proves this payment.
    </p>
  ) : (
    <p class="verdict waiting">
      <strong>Not yet.</strong> Nothing contradicts it, but a step is open. Try later, or another
      node.
    </p>
  )
}
