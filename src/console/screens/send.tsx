import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'

import { useAct } from '../act.ts'
import type { Api } from '../api.ts'
import { useLoaded, usePlatform } from '../context.ts'
import { textsOf } from '../form.ts'
import { useChainChoice } from '../parts/chain-choice.tsx'
import { formatUnits } from '../parts/format.ts'
import { Amount, Choice, Facts, Failure, Foreign, Hash, Heading, Panel } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'

export type Balance = {
  address: string
  /** The coin of the chain, in which gas is paid. */
  coin: string
  balance_wei: string
  tokens: { currency: string; decimals: number; balance_units: string }[]
}

type Wanted = Record<string, string>

/** Sends a payment, or mints: what is asked for is shown as a whole before anything happens. */
export function SendScreen({ route }: ScreenProps) {
  const isMint = route.query['what'] === 'mint'
  return (
    <>
      <Heading>{isMint ? 'Mint' : 'Send a payment'}</Heading>
      <Tabs of={isMint ? 'mint' : 'payment'} />
      {isMint ? <MintForm key="mint" /> : <PaymentForm key="payment" />}
    </>
  )
}

export function Tabs({ of }: { of: 'payment' | 'batch' | 'mint' }) {
  return (
    <nav class="tabs" aria-label="What to send">
      <Tab to={hashOf(['send'])} isHere={of === 'payment'}>
        A payment
      </Tab>
      <Tab to={hashOf(['send', 'batch'])} isHere={of === 'batch'}>
        A batch from a CSV file
      </Tab>
      <Tab to={hashOf(['send'], { what: 'mint' })} isHere={of === 'mint'}>
        A mint
      </Tab>
    </nav>
  )
}

function Tab(props: { to: string; isHere: boolean; children: ComponentChildren }) {
  const { to, isHere, children } = props
  return (
    <a href={to} {...(isHere && { 'aria-current': 'page' })}>
      {children}
    </a>
  )
}

/** Whose money it is: the address of the user who is signed in, and what it holds. */
export function useBalance(chain: string | undefined) {
  return useLoaded(`balance ${chain}`, (api, signal) =>
    api.get<Balance>('/api/blockchain/balance', { signal, query: { chain } }),
  )
}

/** The coin of the chain first, and its tokens. */
export function currenciesOf(balance: Balance | undefined): string[] {
  const { coin = 'ETH', tokens = [] } = balance ?? {}
  return [coin, ...tokens.map(({ currency }) => currency)]
}

export function From({ of }: { of: ReturnType<typeof useBalance> }) {
  const { data } = of
  return (
    <Panel title="It is paid from your own address">
      {of.error !== undefined && <Failure error={of.error} retry={of.reload} />}
      {data && (
        <Facts
          rows={[
            ['Address', <Hash value={data.address} />],
            [
              'Balance',
              <Amount decimal={formatUnits(BigInt(data.balance_wei), 18)} currency={data.coin} />,
            ],
            ...data.tokens.map(
              ({ currency, decimals, balance_units: units }) =>
                [
                  'Balance',
                  <Amount decimal={formatUnits(BigInt(units), decimals)} currency={currency} />,
                ] as const,
            ),
          ]}
        />
      )}
    </Panel>
  )
}

function PaymentForm() {
  const { chain, choice } = useChainChoice()
  const balance = useBalance(chain)
  const currencies = currenciesOf(balance.data)
  return (
    <div class="panels two">
      <Panel title="Payment">
        <TwoSteps
          verb="Send"
          summary={(wanted) => [
            [
              'Pays',
              <Amount decimal={wanted['amount'] ?? ''} currency={wanted['currency'] ?? ''} />,
            ],
            ['To', <code>{wanted['to_address']}</code>],
            ['From', <code>{balance.data?.address}</code>],
            ['For', <Foreign text={wanted['description'] ?? ''} />],
            ...(wanted['chain'] ? [['Chain', wanted['chain']] as const] : []),
            ['Route', wanted['use_contract'] ? 'Settlement contract, paid once' : 'Plain transfer'],
            ...(wanted['external_id'] ? [['External id', wanted['external_id']] as const] : []),
          ]}
          submit={async (api, wanted, key) => {
            const { use_contract, external_id, ...body } = wanted
            const payment = {
              ...body,
              use_contract: use_contract !== undefined,
              ...(external_id && { external_id }),
            }
            const path = '/api/blockchain/transactions'
            const made = await api.post<{ transaction_id: string }>(path, payment, key)
            return ['transactions', made.transaction_id]
          }}
        >
          <label>
            To address
            <input name="to_address" required pattern="0x[0-9a-fA-F]{40}" spellcheck={false} />
          </label>
          <AmountField />
          {choice}
          <Choice
            key={currencies.join(' ')}
            name="currency"
            title="Currency"
            options={currencies}
            any={false}
            isCode
          />
          <label>
            Description
            <input name="description" required maxLength={512} dir="auto" />
          </label>
          <label>
            External id, which is paid at most once (optional)
            <input name="external_id" maxLength={128} pattern="[!-~]+" />
          </label>
          <label class="check">
            <input type="checkbox" name="use_contract" defaultChecked /> Through the settlement
            contract
          </label>
        </TwoSteps>
      </Panel>
      <From of={balance} />
    </div>
  )
}

function MintForm() {
  const { choice, code } = useChainChoice()
  return (
    <div class="panels two">
      <Panel title="Mint">
        <TwoSteps
          verb="Mint"
          summary={(wanted) => [
            ['Mints', <Amount decimal={wanted['amount'] ?? ''} currency="USD" />],
            ['To', <code>{wanted['address']}</code>],
            ...(wanted['chain'] ? [['Chain', wanted['chain']] as const] : []),
            ['For', 'the same amount of your main wallet'],
          ]}
          submit={async (api, { amount, address }, key) => {
            const destination = { type: 'blockchain', address, chain: code }
            const body = { amount, currency: 'USD', destination }
            type Made = { data: { id: string } }
            const { data } = await api.post<Made>('/v1/businessAccount/transfers', body, key)
            return ['wallets', 'postings', data.id]
          }}
        >
          <label>
            To address
            <input name="address" required pattern="0x[0-9a-fA-F]{40}" spellcheck={false} />
          </label>
          {choice}
          <AmountField title="Amount in USD" />
        </TwoSteps>
      </Panel>
    </div>
  )
}

function AmountField({ title = 'Amount' }: { title?: string }) {
  return (
    <label>
      {title}
      <input
        name="amount"
        required
        inputMode="decimal"
        pattern="(0|[1-9]\d{0,12})(\.\d{1,18})?"
        title="A decimal, such as 12.5"
        autocomplete="off"
      />
    </label>
  )
}

/**
 * First what is wanted, then the whole of it to look at, then the deed. The same key goes with each
 * try, so that a second press or a lost answer does it once.
 */
export function TwoSteps(props: {
  verb: string
  summary: (wanted: Wanted) => readonly (readonly [string, ComponentChildren])[]
  /** Resolves to where one is led. */
  submit: (api: Api, wanted: Wanted, key: string) => Promise<readonly string[]>
  children: ComponentChildren
}) {
  const { verb, summary, submit, children } = props
  const { api } = usePlatform()
  const { act, isBusy, error } = useAct()
  const [wanted, setWanted] = useState<Wanted>()
  const key = useMemo(() => crypto.randomUUID(), [wanted])
  const send = async (): Promise<void> => {
    if (wanted) location.hash = hashOf(await submit(api, wanted, key))
  }
  return (
    <>
      <form
        class="act"
        hidden={wanted !== undefined}
        onSubmit={(event) => {
          event.preventDefault()
          setWanted(textsOf(event.currentTarget))
        }}
      >
        {children}
        <p class="buttons">
          <button type="submit" class="primary">
            Review
          </button>
        </p>
      </form>
      {wanted && (
        <div class="act">
          <Facts rows={summary(wanted)} />
          {error !== undefined && <Failure error={error} />}
          <p class="buttons">
            <button type="button" class="primary" disabled={isBusy} onClick={() => act(send)}>
              {isBusy ? `${verb} …` : verb}
            </button>
            <button type="button" disabled={isBusy} onClick={() => setWanted(undefined)}>
              Change it
            </button>
          </p>
        </div>
      )}
    </>
  )
}
