import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { type Architecture, architecture } from './support/architecture.ts'
import { filesMax, fullFolders, linesMax } from './support/size.ts'
import { projectRoot, readProject, type SourceFile } from './support/source.ts'
import {
  crowded,
  folderOf,
  impurities,
  leftovers,
  machinePaths,
  outgrown,
  oversized,
  productFiles,
  registryHosts,
  strayFolders,
  strayImports,
} from './support/tidy.ts'

describe('the source keeps its shape [F-01]', () => {
  const files = readProject()

  test('every folder is in the table, and the table only points up', () => {
    assert.deepEqual(strayFolders(files, architecture), [])
  })
  test('imports follow the table', () => {
    assert.deepEqual(strayImports(files, architecture), [])
  })
  test('pure folders stay pure', () => {
    assert.deepEqual(impurities(files, architecture), [])
  })
  test('files fit in a sitting', () => {
    assert.deepEqual(oversized(files), [])
  })
  test('no folder outgrows its figure, and each figure follows its folder down', () => {
    assert.deepEqual(outgrown(files, linesMax), [])
  })
  test('no folder is crowded', () => {
    assert.deepEqual(crowded(files, filesMax, fullFolders), [])
  })
  test('nothing is left over', () => {
    assert.deepEqual(leftovers(files), [])
  })
  test('no file names a machine or a registry', () => {
    assert.deepEqual([...machinePaths(files), ...registryHosts(files)], [])
  })
  test('the checks saw the source', () => {
    const seen = new Set(productFiles(files).map(({ path }) => folderOf(path)))
    const folders = readdirSync(join(projectRoot, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    )
    assert.deepEqual(
      folders.map(({ name }) => name).filter((name) => !seen.has(name)),
      [],
    )
    assert(productFiles(files).length >= 60, `only ${productFiles(files).length} files`)
  })
})

describe('each rule catches what it is for [F-01]', () => {
  const table: Architecture = {
    base: { imports: [], pure: true, packages: [], node: ['crypto'] },
    model: { imports: ['base'], pure: true, packages: ['zod'], node: [] },
    storage: { imports: ['base', 'model'], pure: false, packages: ['pg', '@scope/driver'], node: ['sqlite'] },
  }

  test.each([
    ['src/other/a.ts', ''],
    ['src/other/deep/a.ts', ''],
  ])('a folder without a line: %s', (path) => {
    assert.deepEqual(strayFolders([file(path)], table), ['src/other is not in the table'])
  })

  test('a line that points down, at itself or nowhere', () => {
    const folder = (...imports: string[]) => ({ imports, pure: true, packages: [], node: [] })
    const broken = { base: folder('model'), model: folder('model', 'base'), runs: folder('gone') }
    assert.deepEqual(strayFolders([], broken), [
      'base → model points down',
      'model → model points down',
      'runs → gone points down',
    ])
  })

  test.each([
    [`import { a } from '../model/a.ts'`],
    [`import type { A } from '../model/a.ts'`],
    [`import { type A } from '../model/a.ts'`],
    [`import '../model/a.ts'`],
    [`export { a } from '../model/a.ts'`],
    [`export * from '../model/a.ts'`],
    [`export type * from '../model/a.ts'`],
    [`const a = await import('../model/a.ts')`],
    [`const a = import(name)`],
    [`const a = require('../model/a.ts')`],
    [`const a = require.resolve('zod')`],
    [`const a = import.meta.resolve('zod')`],
    [`const a = process.getBuiltinModule('node:fs')`],
    [`import a = require('../model/a.ts')`],
    [`type A = import('../model/a.ts').A`],
    [`import { z } from 'zod'`],
    [`import pg from '@scope/driver'`],
    [`import fs from 'node:fs'`],
    [`import { readFile } from 'fs'`],
    [`import { a } from '../../test/a.ts'`],
    [`import { a } from '../index.ts'`],
    [`import { a } from '/a.ts'`],
  ])('an import that the table does not allow: %s', (text) => {
    assert.equal(strayImports([file('src/base/a.ts', text)], table).length, 1)
  })

  test('a file of `src` itself reaches folders, not packages or Node', () => {
    const text = `export * from './base/a.ts'\nexport * from './gone/a.ts'\nimport 'zod'\nimport 'node:crypto'`
    assert.deepEqual(strayImports([file('src/index.ts', text)], table), [
      'src/index.ts:2 may not import ./gone/a.ts',
      'src/index.ts:3 may not import zod',
      'src/index.ts:4 may not import node:crypto',
    ])
  })

  test('only a folder that loads files of the user imports what is known when it runs', () => {
    const loading = { ...table, runtime: { imports: [], pure: false, packages: [], node: [], loads: true } }
    const [runtime, base] = [file('src/runtime/a.ts', 'import(name)'), file('src/base/a.ts', 'import(name)')]
    assert.deepEqual(strayImports([runtime, base], loading), [
      'src/base/a.ts:1 may not import what is known only when it runs',
    ])
  })

  test('imports that the table allows, and words that only look like imports', () => {
    const text = `import { DatabaseSync } from 'node:sqlite'
      import pg from 'pg'
      import driver from '@scope/driver/deep'
      import { a } from '../base/a.ts'
      import { b } from '../drivers/b.ts'
      // import { c } from '../runtime/c.ts'
      const text = "import { c } from '../runtime/c.ts'"
      export const d = 1`
    assert.deepEqual(strayImports([file('src/storage/drivers/a.ts', text)], table), [])
    assert.deepEqual(strayImports([file('src/base/a.test.ts', `import { test } from 'vitest'`)], table), [])
  })

  test.each([
    ['async function a() {}'],
    ['const a = async () => 1'],
    ['const a = { async b() {} }'],
    ['async function* a() {}'],
    ['export const a = await b'],
    ['for await (const a of b) c(a)'],
    ['const a = Promise.resolve(1)'],
    ['const a = import("./b.ts")'],
    ['const a = Date.now()'],
    ['const a = Date["now"]()'],
    ['const a = new Date()'],
    ['const a = Date()'],
    ['const a = performance.now()'],
    ['const a = Math.random()'],
    ['const now = Date.now'],
    [`import { randomUUID } from 'node:crypto'`],
    [`import { generateKeyPairSync as make } from 'node:crypto'`],
    ['const a = crypto.randomUUID()'],
    ['setTimeout(a, 1)'],
    ['setInterval(a, 1)'],
    ['setImmediate(a)'],
    ['queueMicrotask(a)'],
    ['const a = process.env.HOME'],
    ['const { env } = process'],
    ['const a = globalThis.process'],
    ['const a = fetch("b")'],
    ['console.error("a")'],
    [`const a = \`text \${process.pid}\``],
    ['const a = b.localeCompare(c)'],
    ['const a = new Intl.Collator()'],
    ['const a = b.getHours()'],
  ])('an effect in a pure folder: %s', (text) => {
    assert.equal(impurities([file('src/base/a.ts', text)], table).length, 1)
    assert.deepEqual(impurities([file('src/storage/a.ts', text), file('src/base/a.test.ts', text)], table), [])
  })

  test('words, types and names of members are no effects', () => {
    const text = `// await Date.now(), process.env, fetch(url)
      /* async Math.random() */
      /** setTimeout */
      const said = 'await fetch(process.env.URL)'
      const shown = \`async \${said} Date.now()\`
      const pattern = /await process\\.exit/
      interface Port { fetch(url: string): Promise<string>; readonly process: typeof process }
      import type { Function } from './types.ts'
      const read = (port: Port): number => port.process.length + new Date(0).getUTCDate() + Date.parse('')
      const made = { process: 1, async: true, fetch: 2 }`
    assert.deepEqual(impurities([file('src/base/a.ts', text)], table), [])
  })

  test('a file that is too long, by one line', () => {
    const lines = (count: number) => 'const a = 1\n'.repeat(count)
    assert.deepEqual(oversized([file('test/a.ts', lines(400)), file('src/base/b.ts', lines(401))]), [
      'src/base/b.ts has 401 lines, at most 400',
    ])
  })

  test('a folder that is too large, one that became smaller, and one without a figure', () => {
    const lines = (path: string, count: number) => file(path, 'const a = 1\n'.repeat(count))
    const files = [lines('src/base/a.ts', 90), lines('src/base/b/c.ts', 11), lines('src/base/a.test.ts', 500)]
    assert.deepEqual(outgrown(files, { base: 101 }), [])
    assert.deepEqual(outgrown(files, { base: 100 }), ['src/base has 101 lines, at most 100'])
    assert.deepEqual(outgrown(files, { base: 200 }), ['src/base has 101 lines: lower its figure from 200'])
    assert.deepEqual(outgrown(files, {}), ['src/base has 101 lines and no figure'])
  })

  test('a folder with too many files side by side', () => {
    const files = ['a', 'b', 'c', 'd/e', 'd/f'].map((name) => file(`src/base/${name}.ts`))
    assert.deepEqual(crowded(files, 2, {}), ['src/base has 3 files, at most 2'])
    assert.deepEqual(crowded(files, 2, { 'src/base': 3 }), [])
  })

  test.each([
    ['src/base/a.ts', `// ${'FIX'}ME later`],
    ['bench/a.ts', `const a = '${'TO'}DO'`],
    ['test/a.ts', `/* ${'XX'}X */`],
    ['src/cli/a.ts', 'console.log(1)'],
    ['scripts/a.ts', 'debugger'],
    ['src/base/a.test.ts', 'test.only("a", () => {})'],
    ['test/a.test.ts', 'describe.skip("a", () => {})'],
    ['test/a.test.ts', 'test.skip.each([1])("a", () => {})'],
    ['test/a.test.ts', 'test.todo("a")'],
    ['test/a.test.ts', 'test("a", { skip: true }, () => {})'],
    ['test/a.test.ts', 'test("a", ({ task }) => task.context.skip())'],
    ['src/testing/a.ts', 'contract.test.only("a", () => {})'],
  ])('a leftover in %s: %s', (path, text) => {
    assert.equal(leftovers([file(path, text)]).length, 1)
  })

  test('what only looks like a leftover', () => {
    const kept = [
      file('test/a.test.ts', 'test.skipIf(folder === undefined)("mastodon.only(1)", () => {}) // test.skip('),
      file('scripts/a.ts', 'console.log(list.skip)'),
    ]
    assert.deepEqual(leftovers(kept), [])
  })

  test.each([
    ['see /wor\u006b/main/src'],
    ['"/roo\u0074/.npm"'],
    ['(/hom\u0065/me/x)'],
    ['path=/User\u0073/me/x'],
    ['C:\\User\u0073\\me'],
  ])('a path of a machine: %s', (text) => {
    assert.deepEqual(machinePaths([file('docs/a.md', `first\n${text}`)]), ['docs/a.md:2 names a machine path'])
  })

  test('paths that belong to no machine', () => {
    const text = '/workspace/a https://example.org/home/a ./home/a /home src/work/a $HOME/work/a'
    assert.deepEqual(machinePaths([file('docs/a.md', text)]), [])
  })

  test('a download address in a lock file or a registry in .npmrc', () => {
    const lock = '{"packages":{"a":{"version":"1.0.0","resolved":"https://registry.example/a.tgz"}}}'
    assert.equal(registryHosts([file('package-lock.json', lock), file('.npmrc', 'registry=https://x')]).length, 2)
    const clean = '{"packages":{"tools":{"resolved":"tools/node","link":true,"funding":"https://example.org"}}}'
    assert.deepEqual(registryHosts([file('package-lock.json', clean), file('docs/a.md', lock)]), [])
  })
})

function file(path: string, text = ''): SourceFile {
  return { path, text }
}
