import { quote } from '../base/failure.ts'

/** A path relative to the pack, without `.` and `..`; undefined when it is absolute, leads out or is no path. */
export function packPath(path: string): string | undefined {
  if (path === '' || /[\0\\]|^[a-z]:|^[a-z][a-z0-9+.-]*:\/\//i.test(path) || path.startsWith('/')) return undefined
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') kept.push(segment)
    else if (kept.pop() === undefined) return undefined
  }
  return kept.length === 0 ? undefined : kept.join('/')
}

/** What is said of a key of the frontmatter whose path does not stay in the pack. */
export const leadsOut = (key: string, path: string): string => `\`${key}\` leads out of the pack: ${quote(path)}`
