import { expect } from 'chai'

import { readPaymentsCsv, sumOf, TEMPLATE } from '../../src/console/parts/payments-csv.ts'

const [ONE, TWO] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`]

describe('a batch from a CSV file', () => {
  it('is read by the names of its columns, with quotes and line ends of any kind', () => {
    const head = '\ufeffAmount,to_address,description\r\n'
    const text = `${head}1.5,${ONE},"Fees, May ""final"""\n2,${TWO},\n`
    expect(readPaymentsCsv(text)).to.deep.equal({
      payments: [
        { amount: '1.5', to_address: ONE, description: 'Fees, May "final"' },
        { amount: '2', to_address: TWO },
      ],
      problems: [],
    })
  })

  it('is refused with the line of each payment that cannot be sent', () => {
    const text = `to_address,amount\n${ONE},1e3\nnobody,2\n${TWO},0\n${TWO},3\n`
    const { problems } = readPaymentsCsv(text)
    expect(problems).to.deep.equal([
      'Line 2: 1e3 is not an amount.',
      'Line 3: nobody is not an address.',
      'Line 4: 0 is not an amount.',
    ])
  })

  it('has a template, which lacks nothing but addresses', () => {
    const { payments, problems } = readPaymentsCsv(TEMPLATE)
    expect(problems.every((problem) => problem.endsWith('is not an address.'))).to.equal(true)
    expect(payments[0]).to.include({ amount: '12.50', description: 'Invoice 2025-014, June' })
    expect(problems).to.have.length(payments.length)
  })

  it('is refused without its columns, with a column of another name, and empty', () => {
    expect(readPaymentsCsv(`to,amount\n${ONE},1`).problems.join(' ')).to.include('to_address')
    expect(readPaymentsCsv(`to_address,amount,memo\n${ONE},1,x`).problems).to.have.length(1)
    expect(readPaymentsCsv('to_address,amount\n').problems).to.have.length(1)
    expect(readPaymentsCsv('').problems).to.have.length(2)
  })

  it('is refused where it has more payments than a batch takes', () => {
    const lines = Array.from({ length: 1001 }, () => `${ONE},1`)
    const { problems } = readPaymentsCsv(['to_address,amount', ...lines].join('\n'))
    expect(problems.join(' ')).to.include('1001').and.include('1000')
  })

  it('comes to a sum that is right to the last digit', () => {
    expect(sumOf(['0.1', '0.2', '0.000000000000000001'])).to.equal('0.300000000000000001')
    expect(sumOf(['9999999999999', '1'])).to.equal('10000000000000')
    expect(sumOf([])).to.equal('0')
  })
})
