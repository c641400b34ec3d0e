import { expect } from 'chai'

import { attentionOf, figuresOf } from '../../src/cli/operator-figures.ts'

const QUIET = `# HELP quittance_open_breaks Disagreements
# TYPE quittance_open_breaks gauge
quittance_open_breaks{kind="missing"} 0
quittance_open_breaks{kind="reorged"} 0
quittance_signer_alerts{kind="signer_funds_low"} 0
quittance_oldest_open_order_seconds 12.5
quittance_webhook_oldest_due_seconds 0
quittance_supply_drift_dollars 0
quittance_open_orders 4
`

describe('the figures of an operator', () => {
  it('ask for nothing where all is well', () => {
    const figures = figuresOf(QUIET)
    expect(figures.oldestOrderSeconds).to.equal(12.5)
    expect(attentionOf(figures)).to.deep.equal([])
  })

  const cases: ReadonlyArray<[string, string, string, string]> = [
    ['an open break', '{kind="missing"} 0', '{kind="missing"} 2', 'Open breaks: missing 2'],
    [
      'a signer that is low',
      '{kind="signer_funds_low"} 0',
      '{kind="signer_funds_low"} 1',
      'Run: quittance signers',
    ],
    ['an order that waits', 'seconds 12.5', 'seconds 601', 'open for 10 minutes'],
    ['a webhook that waits', 'due_seconds 0', 'due_seconds 7.3e+3', 'due for 121 minutes'],
    ['a drift below zero', 'dollars 0', 'dollars -0.000001', '-0.000001 USD'],
    [
      'an alert of the sender',
      'open_orders 4',
      'sender_alerts{kind="reorg_after_final"} 1',
      'reorg_after_final 1',
    ],
  ]
  for (const [what, was, is, sentence] of cases) {
    it(`name ${what}, and nothing else`, () => {
      const attention = attentionOf(figuresOf(QUIET.replace(was, is)))
      expect(attention).to.have.length(1)
      expect(attention[0]).to.include(sentence)
    })
  }
})
