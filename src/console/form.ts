/** The values of the fields of a form, by their names. Files are left out. */
export function textsOf(form: HTMLFormElement): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string') fields[name] = name === 'password' ? value : value.trim()
  }
  return fields
}

/** Puts these texts into the fields of these names, and empties the others. */
export function fillIn(
  form: HTMLFormElement,
  texts: Readonly<Record<string, string | undefined>>,
): void {
  const fields = form.querySelectorAll<HTMLInputElement | HTMLSelectElement>('[name]')
  for (const field of fields) field.value = texts[field.name] ?? ''
}
