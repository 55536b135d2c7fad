// The project's own files as data, for the tests that look at them.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync } from 'vite'

/** A file of the repository; `path` is relative to its root and has `/` between folders. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** A node of the syntax tree, in the common form (ESTree with TypeScript). */
export interface Node {
  readonly type: string
  readonly start: number
  readonly [field: string]: unknown
}

export const projectRoot = resolve(import.meta.dirname, '../..')

/** Every file of the repository that git would track, found by its ignore list, so that a copy without git has them too. */
export function readProject(root: string = projectRoot): SourceFile[] {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n')
  const folders = ['.git', ...ignored.filter((line) => line.endsWith('/')).map((line) => line.slice(0, -1))]
  return readFolder(root, '', (path, name) => folders.includes(name) || folders.includes(path))
}

function readFolder(root: string, folder: string, skip: (path: string, name: string) => boolean): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .map((entry) => ({ entry, path: folder === '' ? entry.name : `${folder}/${entry.name}` }))
    .filter(({ entry, path }) => !skip(path, entry.name))
    .flatMap(({ entry, path }) => {
      if (entry.isDirectory()) return readFolder(root, path, skip)
      return entry.isFile() ? [{ path, text: readFileSync(join(root, path), 'utf8') }] : []
    })
}

const parsed = new WeakMap<SourceFile, Node>()

/** The syntax tree of a TypeScript file. Comments are not in it, and strings are values. */
export function treeOf(file: SourceFile): Node {
  const kept = parsed.get(file)
  if (kept !== undefined) return kept
  const { program, errors } = parseSync(file.path, file.text, { lang: 'ts', sourceType: 'module' })
  if (errors.length > 0) throw new Error(`${file.path} does not parse: ${errors[0]?.message}`)
  const tree = program as unknown as Node
  parsed.set(file, tree)
  return tree
}

/** Every node below and including this one in the order of the text, but nothing below what `enter` refuses. */
export function* walk(
  node: Node,
  enter: (node: Node, parent: Node | undefined, field: string) => boolean = () => true,
  parent?: Node,
  field = '',
): Generator<Node> {
  if (!enter(node, parent, field)) return
  yield node
  for (const [name, value] of Object.entries(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* walk(child, enter, node, name)
}

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** The name of an identifier, or undefined. */
export const nameOf = (value: unknown): string | undefined =>
  isNode(value) && value.type === 'Identifier' ? String(value['name']) : undefined

/** `path:line`, as editors read it. */
export const placeOf = (file: SourceFile, node: Node): string =>
  `${file.path}:${file.text.slice(0, node.start).split('\n').length}`
