import { render } from 'preact'

import { ReceiptPage } from './receipt-page.tsx'
import './theme.css'
import './receipt.css'

const place = document.querySelector('#app')
if (place) render(<ReceiptPage path={location.pathname} />, place)
