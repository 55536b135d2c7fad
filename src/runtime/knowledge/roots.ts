import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { type PackTrust, packTrust, type RootScope, rootScope } from '../../model/knowledge/knowledge.ts'
import { attempt } from './attempt.ts'

/** A folder in which packs are looked for. */
export interface KnowledgeRoot {
  /** Names the root in ids of packs; without it the scope. */
  readonly id?: string | undefined
  /** `workspace` unless said. */
  readonly scope?: RootScope | undefined
  readonly path: string
  /** The highest trust its packs can have, whatever they say of themselves; unless said, what its scope allows. */
  readonly ceiling?: PackTrust | undefined
  /** `within-root` follows links to folders that lie in this root, too. */
  readonly links?: 'none' | 'within-root' | undefined
  /** The namespace path its packs stand at for grants; without it the root of the tenant. */
  readonly at?: string | undefined
}

/** The same with its defaults filled in, to be scanned. */
export interface RootOptions extends KnowledgeRoot {
  readonly id: string
  readonly scope: RootScope
}

export const ceilingOf = ({ ceiling, scope }: RootOptions): PackTrust => ceiling ?? ceilings[scope]

// A cloned repository can call itself official; what the user or the organisation put in place says more.
const ceilings: Readonly<Record<RootScope, PackTrust>> = {
  workspace: 'unreviewed',
  user: 'user-confirmed',
  organisation: 'official',
  builtin: 'official',
}

/** The roots with every default filled in and every path absolute. A text is a folder of the workspace. */
export function settleRoots(given: readonly (string | KnowledgeRoot)[], base: string): readonly RootOptions[] {
  const used = new Map<string, number>()
  const roots = given.map((one) => settleRoot(typeof one === 'string' ? { path: one } : one, base, used))
  const twice = roots.find(({ id }, index) => roots.findIndex((other) => other.id === id) !== index)
  if (twice === undefined) return roots
  const help = 'give each of them an `id` of its own'
  throw new Failure('config.invalid', `two knowledge roots have the id ${quote(twice.id)}`, { id: twice.id }, help)
}

function settleRoot(given: KnowledgeRoot, base: string, used: Map<string, number>): RootOptions {
  const { scope = 'workspace', ceiling, links, at } = given
  const number = (used.get(scope) ?? 0) + 1
  used.set(scope, number)
  return {
    id: given.id ?? (number === 1 ? scope : `${scope}-${number}`),
    scope,
    path: resolve(base, given.path),
    ...defined({ ceiling, links, at }),
  }
}

/** A root as it is written on a command line: `<scope>[:<ceiling>]=<path>`. */
export function parseRoot(text: string): KnowledgeRoot {
  const [, scope, ceiling, path] = /^([a-z]+)(?::([a-z-]+))?=(.+)$/s.exec(text) ?? []
  const scoped = rootScope.safeParse(scope)
  const clipped = packTrust.optional().safeParse(ceiling)
  if (path !== undefined && scoped.success && clipped.success)
    return { scope: scoped.data, path, ...defined({ ceiling: clipped.data }) }
  const help = `write <scope>=<path> or <scope>:<ceiling>=<path>; scopes: ${rootScope.options.join(', ')}; ceilings: ${packTrust.options.join(', ')}`
  throw new Failure('field.invalid', `${quote(text)} is not a knowledge root`, { pointer: '/root' }, help)
}

/** The conventional roots that exist. In the home directory itself they are the user's, not the workspace's. */
export function conventionalRoots(cwd: string, home: string): readonly RootOptions[] {
  const ofUser = foldersIn(home, 'user')
  const taken = new Set(ofUser.map(({ path }) => path))
  return [...foldersIn(cwd, 'workspace').filter(({ path }) => !taken.has(path)), ...ofUser]
}

const foldersIn = (folder: string, scope: RootScope): RootOptions[] =>
  [
    { id: scope, name: '.agents' },
    { id: `${scope}-ambit`, name: '.ambit' },
  ]
    .map(({ id, name }) => ({ id, scope, path: join(resolve(folder), name, 'knowledge') }))
    .filter(({ path }) => attempt(() => statSync(path).isDirectory()))
