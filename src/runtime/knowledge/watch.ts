import { type FSWatcher, lstatSync, readdirSync, statSync, watch } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { limits } from '../../base/limits.ts'
import { attempt } from './attempt.ts'

const pollMs = 1_000

/**
 * Says that something below the roots may have changed, some time after it did; what it was, the next scan finds. Hidden
 * folders and what lies at or below a path of `except` do not count: records and answers are written there. Keeps the
 * process alive until what it answers is called.
 */
export function watchRoots(
  roots: readonly { readonly path: string }[],
  onChange: () => void,
  except: readonly string[] = [],
): () => void {
  let timer: NodeJS.Timeout | undefined
  const soon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(onChange, limits.knowledgeWatchPauseMs)
  }
  const watches = roots.map(({ path }) => {
    const counts = (name: string): boolean =>
      !isHidden(name) && !except.some((own) => isBelow(own, resolve(path, name)))
    return watchRoot(path, counts, soon)
  })
  const looking = setInterval(() => {
    for (const { look } of watches) look()
  }, pollMs)
  return () => {
    clearTimeout(timer)
    clearInterval(looking)
    for (const { close } of watches) close()
  }
}

type Counts = (name: string) => boolean

/** A root may come, go and come back, which no watch tells: `look` does. It also looks at what cannot be watched. */
function watchRoot(root: string, counts: Counts, soon: () => void) {
  let known: number | undefined
  let watcher: FSWatcher | undefined
  let polled: string | undefined
  const poll = (): void => {
    watcher?.close()
    polled = stateOf(root, counts)
  }
  const start = (): void => {
    watcher?.close()
    watcher = undefined
    polled = undefined
    known = inodeOf(root)
    if (known === undefined) return
    try {
      watcher = watch(root, { recursive: true }, (_, name) => {
        if (name === null || counts(name)) soon()
      })
      watcher.on('error', poll)
    } catch {
      poll()
    }
  }
  const look = (): void => {
    const before = polled
    if (inodeOf(root) !== known) {
      start()
      soon()
    } else if (before !== undefined) {
      poll()
      if (polled !== before) soon()
    }
  }
  start()
  return { look, close: () => watcher?.close() }
}

const inodeOf = (path: string): number | undefined => attempt(() => statSync(path).ino)

const isHidden = (name: string): boolean => name.split(sep).some((part) => part.startsWith('.'))

const isBelow = (folder: string, path: string): boolean => {
  const [first] = relative(folder, path).split(sep)
  return first !== '..'
}

/** Names, sizes and times of all that counts below a root; empty where it is not there. Links are not followed. */
function stateOf(root: string, counts: Counts, name = ''): string {
  const states = attempt(() =>
    readdirSync(join(root, name), { withFileTypes: true })
      .map((entry) => ({ entry, at: join(name, entry.name) }))
      .filter(({ at }) => counts(at))
      .map(({ entry, at }) => {
        const { size, mtimeMs } = lstatSync(join(root, at))
        return `${at} ${size} ${mtimeMs}\n${entry.isDirectory() ? stateOf(root, counts, at) : ''}`
      }),
  )
  return states?.join('') ?? ''
}
