import { type FSWatcher, watch } from 'node:fs'
import { limits } from '../../base/limits.ts'
import type { RootOptions } from './roots.ts'

/**
 * Says that something below the roots may have changed, some time after it did; what it was, the next scan finds. A
 * root that cannot be watched is passed over. Answers how to stop.
 */
export function watchRoots(roots: readonly RootOptions[], onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const soon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(onChange, limits.knowledgeWatchPauseMs)
  }
  const watchers = roots.flatMap(({ path }) => watcherOf(path, soon))
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

function watcherOf(path: string, onChange: () => void): FSWatcher[] {
  try {
    const watcher = watch(path, { recursive: true, persistent: false }, onChange)
    watcher.on('error', () => watcher.close())
    return [watcher]
  } catch {
    return []
  }
}
