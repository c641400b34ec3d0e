/** Says of a setting what it must be; whoever reads it adds which one, and what it is. */
export class BadValue extends Error {}
