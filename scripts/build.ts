// Builds the package into dist/ and checks it as those who install it will meet it.

import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { failed, passed, root, run } from './support/run.ts'

rmSync(join(root, 'dist'), { recursive: true, force: true })
run({ name: 'types', command: 'tsc', args: ['-p', 'tsconfig.build.json'] })
await bundle()
await checkShape()
await checkImports()

/**
 * A file per entry and per command instead of one per source file, with Zod and Ajv inside: reading hundreds of small
 * files is most of what an import costs. Zod stays a dependency because the types name it.
 */
async function bundle(): Promise<void> {
  const start = Date.now()
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  await build({
    absWorkingDir: root,
    entryPoints: [
      ...['src/index.ts', 'src/client/index.ts', 'src/testing/index.ts', 'src/cli/main.ts'],
      ...['src/bridges/ai-sdk.ts', 'src/bridges/openai-agents.ts', 'src/bridges/langchain.ts'],
    ],
    outbase: 'src',
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Blanks and long names only take time to read; whoever wants to read a stack has the source.
    minify: true,
    external: Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !['zod', 'ajv'].includes(name)),
    logLevel: 'error',
    plugins: [oneLanguage()],
  })
  passed('dist', start)
}

/** Zod brings its messages in some fifty languages. Ours are written by us, so one of them is enough. */
function oneLanguage(): Plugin {
  const contents = "export { default as en } from './en.js'"
  return {
    name: 'one-language',
    setup: ({ onLoad }) =>
      onLoad({ filter: /zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, ({ path }) => ({
        contents,
        resolveDir: dirname(path),
      })),
  }
}

/** What npm would pack holds every file that package.json names, in the form it says. */
async function checkShape(): Promise<void> {
  const start = Date.now()
  const { messages, pkg } = await publint({ pkgDir: root, pack: 'npm', strict: true })
  const found = messages.map((message) => formatMessage(message, pkg, { color: false }))
  if (found.length > 0) failed('package shape', found.join('\n'))
  passed('package shape', start)
}

/** Every door of the package opens. */
async function checkImports(): Promise<void> {
  const start = Date.now()
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const doors: string[] = Object.values<string | { default: string }>(exports)
    .map((target) => (typeof target === 'string' ? target : target.default))
    .filter((target) => target.endsWith('.js'))
  for (const door of doors)
    await import(pathToFileURL(join(root, door)).href).catch((error) =>
      failed(`import of ${door}`, String(error?.stack)),
    )
  passed(`import of ${doors.join(', ')}`, start)
}
