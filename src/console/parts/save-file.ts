/** Hands the visitor a file that the page has made. */
export function saveFile(file: { name: string; type: string; body: string }): void {
  const url = URL.createObjectURL(new Blob([file.body], { type: file.type }))
  const link = document.createElement('a')
  link.href = url
  link.download = file.name
  link.click()
  URL.revokeObjectURL(url)
}
