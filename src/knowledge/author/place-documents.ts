import { byUnit } from '../../base/canonical.ts'
import type { PackText } from './pack-content.ts'

/**
 * Documents at their paths below `documents/`, in order. Folders stay; what paths in a pack cannot bear is written as
 * `-`. The splits of a document lie in a folder named after its stem, so no two documents may share one: those nearer to
 * the top keep their names, others get the names of their folders in front.
 */
export function placeDocuments(documents: readonly PackText[]): readonly PackText[] {
  // A document called like an entry file would be taken for one.
  const taken = new Set(['knowledge', 'skill'])
  return documents
    .filter(({ path }) => !isContract(path))
    .toSorted((left, right) => depthOf(left.path) - depthOf(right.path) || byUnit(left.path, right.path))
    .map(({ path, text }) => ({ path: `documents/${placeOf(path, taken)}`, text }))
    .toSorted((left, right) => byUnit(left.path, right.path))
}

/** Entry files of packs and Skills: what they ask of a reader is no document. */
export const isContract = (path: string): boolean => /(?:^|\/)(?:knowledge|skill)\.md$/i.test(path)

const depthOf = (path: string): number => path.split('/').length

function placeOf(path: string, taken: Set<string>): string {
  const segments = path.split('/')
  const folders = segments.slice(0, -1).map(plainSegment)
  const file = segments.at(-1) ?? ''
  const ending = /\.[a-z]{1,8}$/i.exec(file)?.[0] ?? ''
  const name = plainSegment(file.slice(0, file.length - ending.length))
  return [...folders, `${freeStem(name, [...folders, name].join('-'), taken)}${ending}`].join('/')
}

const plainSegment = (segment: string): string => {
  const plain = segment
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+/, '')
  if (plain === '') return 'untitled'
  return plain.toLowerCase() === 'scripts' ? `about-${plain}` : plain
}

/** Compared without case: some disks do not tell `README` from `readme`. */
function freeStem(name: string, longer: string, taken: Set<string>): string {
  const isFree = (stem: string): boolean => !taken.has(stem.toLowerCase())
  let stem = isFree(name) ? name : longer
  for (let number = 2; !isFree(stem); number++) stem = `${longer}-${number}`
  taken.add(stem.toLowerCase())
  return stem
}
