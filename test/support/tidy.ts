// The rules of the source, each a function from files to findings.

import { posix } from 'node:path'
import type { Architecture } from './architecture.ts'
import { slack } from './size.ts'
import { isNode, type Node, nameOf, placeOf, type SourceFile, treeOf, walk } from './source.ts'

const sourceLinesMax = 400

/** The folder of `src` that a file is in; `''` for files of `src` itself, undefined outside. */
export function folderOf(path: string): string | undefined {
  if (!path.startsWith('src/')) return undefined
  const parts = path.split('/')
  return parts.length > 2 ? parts[1] : ''
}

/** The files the architecture speaks of. Tests may reach for anything. */
export const productFiles = (files: readonly SourceFile[]): SourceFile[] =>
  typescriptFiles(files).filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))

const typescriptFiles = (files: readonly SourceFile[]): SourceFile[] => files.filter(({ path }) => path.endsWith('.ts'))

/** Folders without a line in the table, and lines that point down or nowhere. */
export function strayFolders(files: readonly SourceFile[], table: Architecture): string[] {
  const order = Object.keys(table)
  const unlisted = new Set(productFiles(files).map(({ path }) => folderOf(path) ?? ''))
  unlisted.delete('')
  return [
    ...[...unlisted].filter((folder) => !order.includes(folder)).map((folder) => `src/${folder} is not in the table`),
    ...Object.entries(table).flatMap(([folder, { imports }], index) =>
      imports
        .filter((target) => !order.slice(0, index).includes(target))
        .map((target) => `${folder} → ${target} points down`),
    ),
  ]
}

/** Imports that the table does not allow, whatever their form: for types, for effect, re-exports, dynamic ones, `require`. */
export function strayImports(files: readonly SourceFile[], table: Architecture): string[] {
  return productFiles(files).flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => !mayImport(file, specifier, table))
      .map(
        ({ specifier, node }) =>
          `${placeOf(file, node)} may not import ${specifier ?? 'what is known only when it runs'}`,
      ),
  )
}

function mayImport(file: SourceFile, specifier: string | undefined, table: Architecture): boolean {
  const folder = folderOf(file.path)
  if (folder === undefined) return false
  const rules = table[folder]
  if (specifier === undefined) return rules?.loads ?? false
  if (specifier.startsWith('node:')) return rules?.node.includes(specifier.slice(5)) ?? false
  if (!specifier.startsWith('.')) return rules?.packages.includes(packageOf(specifier)) ?? false
  const target = folderOf(posix.join(posix.dirname(file.path), specifier))
  if (target === undefined) return false
  if (folder === '') return target === '' || target in table
  return target === folder || (rules?.imports.includes(target) ?? false)
}

const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

const importing = [
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
]

function importsOf(file: SourceFile): { node: Node; specifier: string | undefined }[] {
  return [...walk(treeOf(file))].flatMap((node) => {
    if (importing.includes(node.type))
      return isNode(node['source']) ? [{ node, specifier: textOf(node['source']) }] : []
    if (node.type === 'TSExternalModuleReference') return [{ node, specifier: textOf(node['expression']) }]
    if (node.type !== 'CallExpression' || !requires.test(calleeOf(node))) return []
    return [{ node, specifier: textOf((node['arguments'] as unknown[])[0]) }]
  })
}

const requires = /^(require|require\.resolve|import\.meta\.resolve|process\.getBuiltinModule)$/

const textOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === 'Literal' && typeof node['value'] === 'string' ? node['value'] : undefined

/** The called name with its objects, `Date.now`; `''` when it is not that simple. */
const calleeOf = (call: Node): string => pathOf(call['callee'])

function pathOf(node: unknown): string {
  if (!isNode(node)) return ''
  if (node.type === 'Identifier') return String(node['name'])
  if (node.type === 'MetaProperty') return 'import.meta'
  if (node.type !== 'MemberExpression') return ''
  const name = node['computed'] === true ? textOf(node['property']) : nameOf(node['property'])
  return `${pathOf(node['object'])}.${name ?? ''}`
}

/** What waits, reads the clock, draws lots or touches the outside in a pure folder. */
export function impurities(files: readonly SourceFile[], table: Architecture): string[] {
  return productFiles(files)
    .filter(({ path }) => table[folderOf(path) ?? '']?.pure)
    .flatMap((file) => [...new Set(impuritiesOf(file))])
}

const impuritiesOf = (file: SourceFile): string[] =>
  [...walk(treeOf(file), isCode)].flatMap((node) => {
    const why = impurityOf(node)
    return why === undefined ? [] : [`${placeOf(file, node)} ${why}`]
  })

/** Types are erased, and the name of a member is not the global of that name. */
function isCode(node: Node, parent: Node | undefined, field: string): boolean {
  if (node.type.startsWith('TS') && !typescriptExpressions.includes(node.type)) return false
  if (node['importKind'] === 'type') return false
  const isName = field === 'property' || field === 'key'
  return !(isName && node.type === 'Identifier' && parent?.['computed'] !== true)
}

const typescriptExpressions = [
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSInstantiationExpression',
]

function impurityOf(node: Node): string | undefined {
  if (
    node['async'] === true ||
    node['await'] === true ||
    node.type === 'AwaitExpression' ||
    node.type === 'ImportExpression'
  )
    return 'waits; a pure folder answers at once'
  const name = nameOf(node)
  if (name !== undefined) return globals.find(([pattern]) => pattern.test(name))?.[1]
  if (node.type === 'MemberExpression') return members.find(([pattern]) => pattern.test(pathOf(node)))?.[1]
  const bare = node.type === 'CallExpression' || (node['arguments'] as unknown[] | undefined)?.length === 0
  if (['NewExpression', 'CallExpression'].includes(node.type) && calleeOf(node) === 'Date' && bare) return clock
  return undefined
}

const clock = 'reads the clock; take `now` as an argument'
const chance = 'draws lots; take the value as an argument'
const outside = 'touches the outside; that is the work of an effect folder'

const globals: readonly [RegExp, string][] = [
  [/^Promise$/, 'waits; a pure folder answers at once'],
  [/^performance$/, clock],
  [/^(random[A-Z]\w*|getRandomValues|generateKey\w*|webcrypto|crypto)$/, chance],
  [/^(setTimeout|setInterval|setImmediate|queueMicrotask)$/, 'sets a timer; that is the work of an effect folder'],
  [/^(process|fetch|console|globalThis|global|WebSocket|EventSource|eval|Function|require)$/, outside],
  [/^Intl$/, 'depends on the locale of the machine'],
]

const members: readonly [RegExp, string][] = [
  [/^Date\.now$/, clock],
  [/^Math\.random$|\.(random[A-Z]\w*|getRandomValues|generateKey\w*)$/, chance],
  [/\.(localeCompare|toLocale\w+)$/, 'depends on the locale of the machine'],
  [/\.getTimezoneOffset$|\.get(Date|Day|FullYear|Hours|Minutes|Month)$/, 'depends on the time zone of the machine'],
]

/** Folders of `src` that outgrew the figure they are held to, or whose figure is to be lowered. */
export function outgrown(files: readonly SourceFile[], linesMax: Readonly<Record<string, number>>): string[] {
  const sizes = Map.groupBy(productFiles(files), ({ path }) => folderOf(path) ?? '')
  return [...sizes].flatMap(([folder, inside]) => {
    const lines = inside.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
    const most = linesMax[folder]
    if (most === undefined) return [`src/${folder} has ${lines} lines and no figure`]
    if (lines > most) return [`src/${folder} has ${lines} lines, at most ${most}`]
    return lines < most - slack ? [`src/${folder} has ${lines} lines: lower its figure from ${most}`] : []
  })
}

/** Folders with too many files side by side. */
export function crowded(
  files: readonly SourceFile[],
  most: number,
  exceptions: Readonly<Record<string, number>>,
): string[] {
  const folders = Map.groupBy(productFiles(files), ({ path }) => posix.dirname(path))
  return [...folders]
    .filter(([folder, inside]) => inside.length > (exceptions[folder] ?? most))
    .map(([folder, inside]) => `${folder} has ${inside.length} files, at most ${exceptions[folder] ?? most}`)
}

/** Files that do not fit in a sitting. */
export const oversized = (files: readonly SourceFile[]): string[] =>
  typescriptFiles(files)
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > sourceLinesMax)
    .map(({ path, lines }) => `${path} has ${lines} lines, at most ${sourceLinesMax}`)

// Spelled so that this file does not find itself.
const marks = /\b(FIX[M]E|TO[D]O|X{3})\b/

/** What was meant to go before the change was done. */
export function leftovers(files: readonly SourceFile[]): string[] {
  return typescriptFiles(files).flatMap((file) => [
    ...file.text
      .split('\n')
      .flatMap((line, index) => (marks.test(line) ? [`${file.path}:${index + 1} holds a mark`] : [])),
    ...[...walk(treeOf(file))].flatMap((node) => {
      const what = leftoverOf(node, file)
      return what === undefined ? [] : [`${placeOf(file, node)} ${what}`]
    }),
  ])
}

function leftoverOf(node: Node, { path }: SourceFile): string | undefined {
  if (node.type === 'DebuggerStatement') return 'stops in a debugger'
  const isTest = path.endsWith('.test.ts') || folderOf(path) === 'testing'
  if (isTest) return leftOut(node)
  const prints = path.startsWith('src/') && node.type === 'CallExpression' && calleeOf(node).startsWith('console.')
  return prints ? 'prints' : undefined
}

function leftOut(node: Node): string | undefined {
  const name = nameOf(node['property']) ?? nameOf(node['key']) ?? ''
  const narrows = node.type === 'MemberExpression' || (node.type === 'Property' && isTrue(node['value']))
  return narrows && /^(only|skip|todo|fails)$/.test(name) ? `leaves tests out with \`${name}\`` : undefined
}

const isTrue = (node: unknown): boolean => isNode(node) && node.type === 'Literal' && node['value'] === true

const machinePath = /(?<![\w.~/-])(?:\/(?:work|root|home|Users)\/[\w.]|[A-Z]:\\Users\\)/

/** Paths of somebody's machine. */
export const machinePaths = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (machinePath.test(line) ? [`${path}:${index + 1} names a machine path`] : [])),
  )

/** Download addresses, which tie an installation to one registry. */
export const registryHosts = (files: readonly SourceFile[]): string[] =>
  files
    .filter(({ path }) => /(^|\/)(package-lock\.json|\.npmrc)$/.test(path))
    .filter(({ text }) => /"resolved":\s*"[a-z+]+:|\bregistry\s*=/.test(text))
    .map(({ path }) => `${path} names a registry`)
