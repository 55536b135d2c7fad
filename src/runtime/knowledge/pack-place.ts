import { hostPath, placeOf, realPathIn, stampAt, withOpen } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import { segmentsOf } from '../../files/path.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import type { RootOptions } from './roots.ts'

/** The folder of a pack below its root, which from then on is the border of everything. */
export function openPack(root: RootOptions, path: string): Place | undefined {
  try {
    const place = placeOf(root.path)
    const inside = path === '' ? '' : insideOf(place, root, path)
    if (inside === undefined) return undefined
    // Opening it asks where it really is, so that no link on the way goes unseen.
    const pack = withOpen(place, inside, 'folder', () => ({ ...place, real: hostPath(place, inside) }))
    return stampAt(pack, entryName, 'file') === undefined ? undefined : pack
  } catch {
    return undefined
  }
}

function insideOf(place: Place, { links }: RootOptions, path: string): string | undefined {
  const straight = segmentsOf(path).join('/')
  return links === 'within-root' ? realPathIn(place, hostPath(place, straight)) : straight
}
