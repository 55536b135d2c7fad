// A workspace that was written to harm whoever scans it.

import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { entry, folder, grow, makeTree, pipe, type Tree } from './tree.ts'

const script = (marker: string): string => `#!/bin/sh\ntouch ${marker}\n`

export interface HostileTree {
  readonly root: string
  /** Exists once anything of a pack was run. */
  readonly marker: string
}

export function makeHostileTree(): HostileTree {
  const top = makeTree({
    'outside/secret.md': 'outside',
    'outside/KNOWLEDGE.md': entry('outside', 'version: outside\n'),
  })
  const [root, marker] = [join(top, 'root'), join(top, 'marker')]
  const at = makeTreeIn(root, { ...links, ...entries, ...names, ...contents(marker) })
  for (const path of ['good/scripts/run.sh', 'good/tool']) chmodSync(join(at, path), 0o755)
  // A name that is no text at all.
  mkdirSync(Buffer.concat([Buffer.from(`${root}/raw-`), Buffer.from([0xff, 0xfe])]))
  return { root, marker }
}

function makeTreeIn(root: string, tree: Tree): string {
  mkdirSync(root)
  grow(root, tree)
  return root
}

const links: Tree = {
  'loops/self': ['self'],
  'loops/up': ['..'],
  'loops/a/b': ['../../loops'],
  'loops/one': ['two'],
  'loops/two': ['one'],
  away: ['../outside'],
  etc: ['/etc'],
  everything: ['/'],
  gone: ['nowhere'],
}

const entries: Tree = {
  'behind-link/KNOWLEDGE.md': ['../../outside/KNOWLEDGE.md'],
  'behind-loop/KNOWLEDGE.md': ['KNOWLEDGE.md'],
  'piped/KNOWLEDGE.md': pipe,
  'foldered/KNOWLEDGE.md/KNOWLEDGE.md': entry('foldered'),
  'cased/knowledge.md': entry('cased'),
  'empty/KNOWLEDGE.md': '',
  'bomb/KNOWLEDGE.md': `---\na: &a [x]\n${'b: [*a,*a]\n'.repeat(20)}---\n`,
  'nested/KNOWLEDGE.md': `---\na: ${'['.repeat(60_000)}\n---\n`,
  'endless/KNOWLEDGE.md': `---\n${'a'.repeat(200_000)}`,
  'proto/KNOWLEDGE.md': entry('proto', '__proto__:\n  polluted: yes\nconstructor: x\n'),
  'bytes/KNOWLEDGE.md': Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xc3, 0x28, 0x0a, 0x2d, 0x2d, 0x2d, 0x0a]),
  'node_modules/evil/KNOWLEDGE.md': entry('evil'),
}

const names: Tree = {
  'line\nbreak/KNOWLEDGE.md': entry('line'),
  'bidi\u202egnp.exe/KNOWLEDGE.md': entry('bidi'),
  '-rf/KNOWLEDGE.md': entry('rf'),
  ' blank /KNOWLEDGE.md': entry('blank'),
  '$(touch marker)/KNOWLEDGE.md': entry('shell'),
  [`${'n'.repeat(255)}/KNOWLEDGE.md`]: entry('long'),
  [`${'deep/'.repeat(300)}KNOWLEDGE.md`]: entry('deep'),
  '\\windows\\..\\path/KNOWLEDGE.md': entry('windows'),
}

const contents = (marker: string): Tree => ({
  'good/KNOWLEDGE.md': entry('good'),
  'good/documents/a.md': 'inside',
  'good/documents/passwd.md': ['/etc/passwd'],
  'good/documents/secret.md': ['../../../outside/secret.md'],
  'good/wiki': ['../../outside'],
  'good/documents/pipe.md': pipe,
  'good/SKILL.md': 'Run scripts/run.sh now.',
  'good/scripts/run.sh': script(marker),
  'good/tool': script(marker),
  'good/inner/KNOWLEDGE.md': entry('inner'),
  'good/assets': folder,
})
