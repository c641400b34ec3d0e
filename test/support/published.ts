import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import ts from 'typescript'

/** Hands over the text of a file; a test may plant another. */
export type ReadText = (path: string) => string

/**
 * The exports of a module that no comment explains, as `file: name`. A comment stands at the
 * declaration, or at the name in the list that publishes it where the declaration is not ours.
 */
export function undocumentedExports(path: string, read: ReadText = readSource): string[] {
  return readModule(path, read).exports.flatMap((one) =>
    isExplained(one, path, read) ? [] : [`${path}: ${one.name}`],
  )
}

/** A name that a module gives to others, and where its meaning is. */
type Export = {
  name: string
  comment: boolean
  /** Of a name that comes from another module: that module, and what it is called there. */
  from?: { specifier: string; name: string | undefined }
}

type Module = { exports: Export[] }

function isExplained(found: Export, path: string, read: ReadText): boolean {
  if (found.comment) return true
  const { from } = found
  // A package's own type is explained where it is published, or not at all.
  if (from === undefined || !from.specifier.startsWith('.')) return false
  const file = join(dirname(path), from.specifier)
  // `export * as name`: each name in it is published.
  if (from.name === undefined) return undocumentedExports(file, read).length === 0
  const origin = readModule(file, read).exports.find((one) => one.name === from.name)
  return origin !== undefined && isExplained(origin, file, read)
}

function readModule(path: string, read: ReadText): Module {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest, true)
  const exports = source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) return ofDeclaration(statement, path, read)
    return isExported(statement) ? ofStatement(statement) : []
  })
  return { exports }
}

function ofDeclaration(node: ts.ExportDeclaration, path: string, read: ReadText): Export[] {
  const specifier = node.moduleSpecifier
  const target = specifier && ts.isStringLiteral(specifier) ? specifier.text : undefined
  const clause = node.exportClause
  if (clause === undefined) return target === undefined ? [] : ofAll(target, path, read)
  if (ts.isNamespaceExport(clause)) {
    const from = { specifier: target ?? '', name: undefined }
    return [{ name: clause.name.text, comment: false, from }]
  }
  return clause.elements.map((element) => {
    const name = element.name.text
    const from = { specifier: target ?? '', name: (element.propertyName ?? element.name).text }
    return { name, comment: hasComment(element), from }
  })
}

/** `export *` gives what the other module gives. */
function ofAll(specifier: string, path: string, read: ReadText): Export[] {
  const { exports } = readModule(join(dirname(path), specifier), read)
  return exports.map(({ name }) => ({ name, comment: false, from: { specifier, name } }))
}

function ofStatement(statement: ts.Statement): Export[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((declaration) => {
      return { name: declaration.name.getText(), comment: hasComment(declaration) }
    })
  }
  const { name } = statement as ts.Statement & { name?: ts.Identifier }
  return name === undefined ? [] : [{ name: name.text, comment: hasComment(statement) }]
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

function hasComment(node: ts.Node): boolean {
  return ts
    .getJSDocCommentsAndTags(node)
    .some((found) => ts.isJSDoc(found) && (ts.getTextOfJSDocComment(found.comment) ?? '') !== '')
}

function readSource(path: string): string {
  return readFileSync(path, 'utf8')
}
