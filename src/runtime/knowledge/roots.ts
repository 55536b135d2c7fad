import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { PackTrust, RootScope } from '../../model/knowledge.ts'

/** A folder that is scanned for packs. */
export interface RootOptions {
  readonly id: string
  readonly scope: RootScope
  readonly path: string
  /** The most that a pack there can be trusted; unless said, what its scope allows. */
  readonly ceiling?: PackTrust | undefined
  /** `within-root` follows links to folders that lie in this root, too. */
  readonly links?: 'none' | 'within-root' | undefined
  /** The namespace path its packs stand at for grants; unless said, the root of the tenant. */
  readonly at?: string | undefined
}

export const ceilingOf = ({ ceiling, scope }: RootOptions): PackTrust => ceiling ?? ceilings[scope]

// A cloned repository can call itself official; what the user or the organisation put in place says more.
const ceilings: Readonly<Record<RootScope, PackTrust>> = {
  workspace: 'unreviewed',
  user: 'user-confirmed',
  organisation: 'official',
  builtin: 'official',
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
    .filter(({ path }) => isFolder(path))

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
