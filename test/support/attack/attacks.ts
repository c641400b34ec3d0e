import type { Attack } from './attack.ts'
import { overload } from './overload.ts'
import { publicRoutes } from './public-routes.ts'

/** Each is a file of this folder. A new one is added here, and `npm run attack` runs it. */
export const ATTACKS: readonly Attack[] = [overload, publicRoutes]
