// Builds the package into dist/ and checks it as those who install it will meet it.

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { type Plugin, rolldown } from 'rolldown'
import { failed, passed, root, run } from './support/run.ts'

const inside = ['zod', 'ajv']
const doors = [
  ...['index', 'client/index', 'runtime/knowledge/index', 'testing/index', 'cli/main'],
  ...['bridges/ai-sdk', 'bridges/openai-agents', 'bridges/langchain'],
]

rmSync(join(root, 'dist'), { recursive: true, force: true })
run({ name: 'types', command: 'tsc', args: ['-p', 'tsconfig.build.json'] })
await bundle()
await checkShape()
await checkImports()

/**
 * All that `import 'ambit'` needs in one file, and the rest by command, with Zod and Ajv inside: reading many small files
 * is most of what an import costs. Zod stays a dependency because the types name it.
 */
async function bundle(): Promise<void> {
  const start = Date.now()
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const outside = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !inside.includes(name))
  const bundled = await rolldown({
    cwd: root,
    input: Object.fromEntries(doors.map((door) => [door, `src/${door}.ts`])),
    platform: 'node',
    external: (id) => id.startsWith('node:') || outside.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [oneLanguage()],
  })
  await bundled.write({
    dir: join(root, 'dist'),
    format: 'esm',
    entryFileNames: '[name].js',
    // Blanks and long names only take time to read; whoever wants to read a stack has the source.
    minify: true,
    codeSplitting: {
      groups: [
        // The client runs in browsers and needs nothing of the rest.
        { name: 'client', test: /src[/\\]client[/\\]index\.ts$/, priority: 2 },
        { name: 'core', test: /src[/\\]index\.ts$/, priority: 1 },
      ],
    },
  })
  await bundled.close()
  passed('dist', start)
}

/** Zod brings its messages in some fifty languages. Ours are written by us, so one of them is enough. */
function oneLanguage(): Plugin {
  const contents = "export { default as en } from './en.js'"
  return {
    name: 'one-language',
    load: (id) => (/zod[/\\]v4[/\\]locales[/\\]index\.js$/.test(id) ? contents : undefined),
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
