import { limits } from '../../base/limits.ts'
import { readBytes, withOpen } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import type { Walked } from '../../files/walk.ts'
import { type IgnoreRule, ignores, readIgnoreRules } from '../../knowledge/discover/gitignore.ts'
import { attempt } from './attempt.ts'

/** Folders that hold what was fetched or generated: never the place of a pack that somebody keeps. */
const usuallyIgnored: readonly string[] =
  `node_modules bower_components jspm_packages vendor third_party site-packages dist-packages venv virtualenv
  __pycache__ __pypackages__ dist build out target coverage CVS`.split(/\s+/)

/** Whether the walk passes over a folder by its name in the folder it lies in. */
export type IsIgnored = (folder: Walked, name: string) => boolean

/** Hidden folders and search indexes are passed over whatever the list says. */
export function makeIgnored(names: readonly string[] = usuallyIgnored): IsIgnored {
  const ignored = new Set(names)
  return (_, name) => name.startsWith('.') || name === 'indexes' || ignored.has(name)
}

/** What the `.gitignore` files of the root leave out; those above the root are not read. */
export function makeGitIgnored(place: Place): IsIgnored {
  const files = new Map<string, readonly IgnoreRule[]>()
  return (folder, name) => {
    if (!files.has(folder.realPath)) files.set(folder.realPath, rulesIn(place, folder))
    const segments = folder.realPath === '' ? [name] : [...folder.realPath.split('/'), name]
    // The file that lies nearest is asked first.
    for (let depth = segments.length - 1; depth >= 0; depth--) {
      const rules = files.get(segments.slice(0, depth).join('/')) ?? []
      const answer = ignores(rules, segments.slice(depth))
      if (answer !== undefined) return answer
    }
    return false
  }
}

function rulesIn(place: Place, { realPath, entries }: Walked): readonly IgnoreRule[] {
  if (!entries.some(({ name, kind }) => name === '.gitignore' && kind === 'file')) return []
  const path = realPath === '' ? '.gitignore' : `${realPath}/.gitignore`
  const text = attempt(() =>
    withOpen(place, path, 'file', ({ descriptor }) =>
      readBytes(descriptor, 0, limits.knowledgeFrontmatterBytesMax).toString('utf8'),
    ),
  )
  return readIgnoreRules(text ?? '')
}
