import { sha256 } from '../base/hash.ts'

// The tree of RFC 6962. Hashes are bare hex; a leaf is the hash of 00 ‖ its text, a node of 01 ‖ left ‖ right.

export const emptyRoot: string = sha256('')

export const leafHash = (text: string): string => sha256(`\0${text}`)

const node = Buffer.alloc(65, 1)

export function nodeHash(left: string, right: string): string {
  node.write(left, 1, 32, 'hex')
  node.write(right, 33, 32, 'hex')
  return sha256(node)
}

/** The root over leaf hashes `from` (included) to `to` (excluded). */
export function merkleRoot(leaves: readonly string[], from = 0, to: number = leaves.length): string {
  if (to - from <= 1) return leaves[from] ?? emptyRoot
  const middle = from + splitOf(to - from)
  return nodeHash(merkleRoot(leaves, from, middle), merkleRoot(leaves, middle, to))
}

/** The largest power of two below `size`. */
function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

/** The audit path of one leaf, from the bottom up, under the root over the leaves `from` to `to`. */
export function inclusionProof(
  leaves: readonly string[],
  index: number,
  from = 0,
  to: number = leaves.length,
): string[] {
  if (to - from <= 1) return []
  const middle = from + splitOf(to - from)
  if (index < middle) return [...inclusionProof(leaves, index, from, middle), merkleRoot(leaves, middle, to)]
  return [...inclusionProof(leaves, index, middle, to), merkleRoot(leaves, from, middle)]
}

export interface Inclusion {
  readonly leaf: string
  readonly index: number
  readonly size: number
  readonly path: readonly string[]
}

/** True if the path leads from this leaf at this place to `root` of a tree of this size. */
export function includes(root: string, { leaf, index, size, path }: Inclusion): boolean {
  if (!isCount(index) || !isCount(size) || index >= size) return false
  let place = index
  let last = size - 1
  let hash = leaf
  for (const sibling of path) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      hash = nodeHash(sibling, hash)
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, half(last)]
    } else {
      hash = nodeHash(hash, sibling)
    }
    place = half(place)
    last = half(last)
  }
  return last === 0 && hash === root
}

/** The proof that the tree over the first `size` leaves is the beginning of the tree over all of them. */
export function consistencyProof(leaves: readonly string[], size: number): string[] {
  return size === 0 ? [] : subproof(leaves, size, 0, leaves.length, true)
}

function subproof(leaves: readonly string[], size: number, from: number, to: number, whole: boolean): string[] {
  if (size === to - from) return whole ? [] : [merkleRoot(leaves, from, to)]
  const split = splitOf(to - from)
  const middle = from + split
  if (size <= split) return [...subproof(leaves, size, from, middle, whole), merkleRoot(leaves, middle, to)]
  return [...subproof(leaves, size - split, middle, to, false), merkleRoot(leaves, from, middle)]
}

export interface Growth {
  readonly firstSize: number
  readonly firstRoot: string
  readonly secondSize: number
  readonly secondRoot: string
  readonly proof: readonly string[]
}

/** True if the second tree only added leaves to the first. */
export function grew({ firstSize, firstRoot, secondSize, secondRoot, proof }: Growth): boolean {
  if (!isCount(firstSize) || !isCount(secondSize) || firstSize > secondSize) return false
  if (firstSize === 0) return proof.length === 0 && firstRoot === emptyRoot
  if (firstSize === secondSize) return proof.length === 0 && firstRoot === secondRoot
  let place = firstSize - 1
  let last = secondSize - 1
  while (place % 2 === 1) [place, last] = [half(place), half(last)]
  // A first tree that is complete stands in the second one whole: its root starts the path unsaid.
  const [start, ...rest] = place === 0 ? [firstRoot, ...proof] : proof
  if (start === undefined) return false
  let first = start
  let second = start
  for (const sibling of rest) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      first = nodeHash(sibling, first)
      second = nodeHash(sibling, second)
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, half(last)]
    } else {
      second = nodeHash(second, sibling)
    }
    place = half(place)
    last = half(last)
  }
  return last === 0 && first === firstRoot && second === secondRoot
}

const half = (count: number): number => Math.floor(count / 2)

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
