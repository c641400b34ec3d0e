/** The lines of a tree, four characters a level: `    └── /:id (GET, HEAD)`. */
export function routesOf(tree: string): string[] {
  const above: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods = ''] =
      /^(.*[├└]── )(\S+)(?: \((.+)\))?$/.exec(line) ?? []
    const level = indent.length / 4
    if (level === 0) return []
    above.splice(level - 1, Infinity, part)
    const path = above.join('').replaceAll(/:(\w+)/g, '{$1}')
    return methods
      .split(', ')
      .filter((method) => method !== '' && method !== 'HEAD')
      .map((method) => `${method} ${path}`)
  })
}
