import type { ComponentType } from 'preact'

import { Unloaded, useOnDemand } from '../parts/on-demand.tsx'
import { Loading } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import type { OTHER_SCREENS } from './other-screens.ts'

const loadOthers = async () => (await import('./other-screens.ts')).OTHER_SCREENS

/** A screen whose program is loaded when somebody first opens one of its kind. */
export function onDemand(name: keyof typeof OTHER_SCREENS): ComponentType<ScreenProps> {
  return function OnDemand(props) {
    const { part, isFailed } = useOnDemand(loadOthers)
    if (isFailed) return <Unloaded what="this screen" />
    const Screen = part?.[name]
    return Screen ? <Screen {...props} /> : <Loading what="the screen" />
  }
}
