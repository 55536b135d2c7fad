import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { isLong } from './test/support/sweep.ts'

const root = new URL('.', import.meta.url).pathname
const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'], { cwd: root })
const files = isLong ? all.filter((file) => contains(file, /\/sweep\.ts'/)) : all

// Beside each other in one process a file of tests costs a second less, which it takes to load what is tested. These
// would notice the others: they replace modules, clean up with their process, or need the `Response` of Node, which a
// server package replaces in the whole process.
const isApart = (file: string): boolean =>
  !/^(src|test\/(contract|knowledge|runs|server))\//.test(file) ||
  file.endsWith('/egress/egress.test.ts') ||
  contains(file, /\bvi\.mock\(|\/kill-world\.ts'/)

export default defineConfig({
  test: {
    // Each child process reads its compiled code instead of compiling it again.
    env: { NODE_COMPILE_CACHE: `${root}node_modules/.cache/ambit-tests` },
    maxWorkers: 2,
    projects: [
      project(
        'apart',
        files.filter((file) => isApart(file)),
        true,
      ),
      project(
        'together',
        files.filter((file) => !isApart(file)),
        false,
      ),
    ],
  },
})

function project(name: string, include: string[], isolate: boolean) {
  return {
    // A configuration imports us by name, wherever it lies; in a test, as Node itself would find us.
    resolve: {
      alias: [
        { find: /^ambit$/, replacement: `${root}src/index.ts` },
        { find: /^ambit\/testing$/, replacement: `${root}src/testing/index.ts` },
      ],
    },
    extends: true as const,
    test: {
      name,
      include,
      pool: 'forks' as const,
      isolate,
      // No test asserts a time: this only ends one that hangs, on the slowest machine.
      testTimeout: 300_000,
      hookTimeout: 300_000,
    },
  }
}

function contains(file: string, pattern: RegExp): boolean {
  return pattern.test(readFileSync(`${root}${file}`, 'utf8'))
}
