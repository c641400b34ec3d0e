import { render } from 'preact'

import { App } from './app.tsx'
import './theme.css'
import './console.css'

const place = document.querySelector('#app')
if (place) render(<App />, place)
