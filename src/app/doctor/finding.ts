import { messageOf } from '../../base/errors.ts'

/** `warning` does not keep the program from starting; `skipped` was not checked, and says why. */
export type FindingStatus = 'ok' | 'warning' | 'problem' | 'skipped'

/** What the doctor found out about one part, and what to do about it. */
export type DoctorFinding = {
  part: DoctorPart
  /** By its name, where several are served. */
  chain?: string
  status: FindingStatus
  message: string
  /** An instruction; absent where there is nothing to do. */
  remedy?: string
}

export const DOCTOR_PARTS = [
  'configuration',
  'database',
  'chain',
  'contracts',
  'signers',
  'clock',
  'webhooks',
] as const

export type DoctorPart = (typeof DOCTOR_PARTS)[number]

export type Report = (finding: Omit<DoctorFinding, 'part' | 'chain'>) => void

/** Most errors of this program say what to do in their last sentence. */
export function problemOf(error: unknown): Omit<DoctorFinding, 'part' | 'chain'> {
  return { status: 'problem', message: messageOf(error) }
}
