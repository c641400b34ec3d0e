/** What the operations on what belongs to all users have in common. */
export const ADMINISTRATION = { tag: 'Administration', access: 'admin' } as const
