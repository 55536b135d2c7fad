// Folders full of packs, good and bad, for tests.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A file's text; `folder`, `pipe`; a link's target in a list. */
export type Tree = Readonly<Record<string, string | Uint8Array | readonly [link: string] | typeof folder | typeof pipe>>

export const folder = Symbol('folder')
export const pipe = Symbol('pipe')

/** Makes the tree in a folder that is gone after the test. */
export function makeTree(tree: Tree): string {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'ambit-packs-')))
  onTestFinished(() => rmSync(top, { recursive: true, force: true }))
  grow(top, tree)
  return top
}

export function grow(top: string, tree: Tree): void {
  for (const [path, what] of Object.entries(tree)) {
    const at = join(top, path)
    mkdirSync(what === folder ? at : dirname(at), { recursive: true })
    if (what === pipe) execFileSync('mkfifo', [at])
    else if (Array.isArray(what)) symlinkSync(what[0], at)
    else if (typeof what === 'string' || what instanceof Uint8Array) writeFileSync(at, what)
  }
}

/** An entry file that has nothing wrong with it. */
export const entry = (name: string, more = ''): string =>
  `---
name: ${name}
description: What ${name} is, and when to look there.
type: domain-reference
status: ready
profile: document-first
${more}---
# ${name}
`
