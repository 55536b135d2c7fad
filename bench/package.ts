import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, median } from './measure.ts'

const root = join(import.meta.dirname, '..')

/** What it costs to have Ambit: the time of `import 'ambit'` beside a bare start of Node, and the size on the disk. */
const bench: Bench = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  try {
    install(folder)
    const start = () => startMs(folder, '')
    const load = () => startMs(folder, "await import('ambit')")
    load()
    const peer = median(Array.from({ length: 15 }, start))
    const ours = median(Array.from({ length: 15 }, load)) - peer
    const megabytes = sizeOf(join(folder, 'node_modules')) / 1e6
    return [
      {
        name: "import 'ambit'",
        unit: 'ms',
        ours,
        peer,
        peerName: 'starting Node',
        ratio: ours / peer,
        goal: '< 100 ms',
        met: ours < 100,
      },
      {
        name: 'production install',
        unit: 'MB',
        ours: megabytes,
        peer: 40,
        peerName: 'the allowance',
        ratio: megabytes / 40,
        goal: '< 40 MB',
        met: megabytes < 40,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
export default bench

/** As a user would: the packed package with its production dependencies, in a folder of its own. */
function install(folder: string): void {
  const run = (command: string, args: readonly string[], cwd: string) =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  run('npm', ['run', 'build'], root)
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root)) as {
    filename: string
  }[]
  cpSync(join(root, '.npmrc'), join(folder, '.npmrc'))
  run('npm', ['install', '--omit=dev', '--no-package-lock', `./${packed?.filename}`], folder)
}

function startMs(cwd: string, script: string): number {
  const start = performance.now()
  execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd })
  return performance.now() - start
}

const sizeOf = (path: string): number =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
