import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { root } from './run.ts'

const inside = ['zod', 'ajv']
const doors = [
  ...['index', 'client/index', 'runtime/knowledge/index', 'testing/index', 'cli/main'],
  ...['bridges/ai-sdk', 'bridges/openai-agents', 'bridges/langchain'],
]

/**
 * Writes all that `import 'ambit'` needs into one file, and the rest by command, with Zod and Ajv inside: reading many
 * small files is most of what an import costs. Zod stays a dependency because the types name it.
 */
export async function bundle(dir: string): Promise<void> {
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
    dir,
    format: 'esm',
    entryFileNames: '[name].js',
    // Lines and names stay: Node prints the line that threw, which is all of the file where there are no others.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
    codeSplitting: {
      groups: [
        // The client runs in browsers and needs nothing of the rest.
        { name: 'client', test: /src[/\\]client[/\\]index\.ts$/, priority: 2 },
        { name: 'core', test: /src[/\\]index\.ts$/, priority: 1 },
      ],
    },
  })
  await bundled.close()
}

/** Zod brings its messages in some fifty languages. Ours are written by us, so one of them is enough. */
function oneLanguage(): Plugin {
  const contents = "export { default as en } from './en.js'"
  return {
    name: 'one-language',
    load: (id) => (/zod[/\\]v4[/\\]locales[/\\]index\.js$/.test(id) ? contents : undefined),
  }
}
