import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { Loading } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import type { OTHER_SCREENS } from './other-screens.ts'

type Screens = typeof OTHER_SCREENS

let loaded: Screens | undefined

/** A screen whose program is loaded when somebody first opens one of its kind. */
export function onDemand(name: keyof Screens): ComponentType<ScreenProps> {
  return function OnDemand(props) {
    const [screens, setScreens] = useState(loaded)
    const [isFailed, setFailed] = useState(false)
    useEffect(() => {
      if (screens) return
      import('./other-screens.ts').then(
        (others) => setScreens((loaded = others.OTHER_SCREENS)),
        () => setFailed(true),
      )
    }, [])
    if (isFailed) return <Unloaded />
    const Screen = screens?.[name]
    return Screen ? <Screen {...props} /> : <Loading what="the screen" />
  }
}

/** A browser remembers that a file did not come, and a new version has files of other names. */
function Unloaded() {
  return (
    <div class="failure" role="alert">
      <p>The platform did not send this screen. Check your connection and load the page again.</p>
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </div>
  )
}
