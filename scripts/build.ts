// Builds the package into dist/ and checks it as those who install it will meet it.

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { bundle } from './support/bundle.ts'
import { failed, passed, root, run } from './support/run.ts'

rmSync(join(root, 'dist'), { recursive: true, force: true })
run({ name: 'types', command: 'tsc', args: ['-p', 'tsconfig.build.json'] })
const start = Date.now()
await bundle(join(root, 'dist'))
passed('dist', start)
await checkShape()
await checkImports()

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
