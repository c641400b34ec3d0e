import { render } from 'preact'

import { App } from './app.tsx'
import { readPreferences } from './parts/preferences.ts'
import './theme.css'
import './console.css'

readPreferences()
const place = document.querySelector('#app')
if (place) render(<App />, place)
