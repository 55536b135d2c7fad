import { canonical } from '../../src/base/canonical.ts'
import { copyOf } from './evidence.ts'

// Every way to touch a JSON document in one place.

export type Path = readonly (string | number)[]

export interface Tampering {
  readonly kind: 'change' | 'delete' | 'duplicate' | 'swap'
  readonly path: Path
  readonly value: unknown
}

type Container = Record<string | number, unknown>

/** Each node but the document itself: changed, deleted, doubled, and swapped with the next of its parent. */
export function* tamperings(document: unknown): Generator<Tampering> {
  const original = canonical(document as never)
  for (const path of pathsOf(document)) {
    for (const tampering of at(document, path)) {
      if (textOf(tampering.value) !== original) yield tampering
    }
  }
}

/** The same member of two neighbours of a list, exchanged. */
export function* exchanges(document: unknown, list: Path): Generator<Tampering> {
  const items = nodeAt(document, list) as unknown[]
  const original = textOf(document)
  for (let index = 0; index + 1 < items.length; index++) {
    for (const path of pathsOf(items[index])) {
      const copy = copyOf(document)
      const [left, right] = [nodeAt(copy, [...list, index]), nodeAt(copy, [...list, index + 1])]
      if (nodeAt(left, path) === undefined || nodeAt(right, path) === undefined) continue
      const kept = nodeAt(left, path)
      set(left, path, nodeAt(right, path))
      set(right, path, kept)
      if (textOf(copy) !== original) yield { kind: 'swap', path: [...list, index, ...path], value: copy }
    }
  }
}

/** Every node below the root, as a path. */
export function* pathsOf(node: unknown, path: Path = []): Generator<Path> {
  if (typeof node !== 'object' || node === null) return
  const keys = Array.isArray(node) ? node.keys() : Object.keys(node)
  for (const key of keys) {
    yield [...path, key]
    yield* pathsOf((node as Container)[key], [...path, key])
  }
}

function* at(document: unknown, path: Path): Generator<Tampering> {
  for (const other of othersThan(nodeAt(document, path))) {
    const copy = copyOf(document)
    set(copy, path, other)
    yield { kind: 'change', path, value: copy }
  }
  yield { kind: 'delete', path, value: without(document, path) }
  yield { kind: 'duplicate', path, value: doubled(document, path) }
  const swapped = swappedWithNext(document, path)
  if (swapped !== undefined) yield { kind: 'swap', path, value: swapped }
}

function othersThan(node: unknown): unknown[] {
  if (typeof node === 'string')
    return [`${node}x`, flipped(node), node.slice(0, -1), node.toUpperCase(), '', null, 7, {}]
  if (typeof node === 'number') return [node + 1, node - 1, node + 0.5, -node, `${node}`, null]
  if (typeof node === 'boolean') return [!node, null, `${node}`]
  if (node === null) return ['x', 0, false, {}, []]
  return Array.isArray(node) ? [[], null, {}] : [{}, null, [], 'x']
}

/** One character changed for another of its kind, so that form alone does not give it away. */
function flipped(text: string): string {
  const last = text.search(/[0-9a-fA-F][^0-9a-fA-F]*$/)
  const place = last < 0 ? 0 : last
  const other = text[place] === '0' ? '1' : '0'
  return text.slice(0, place) + other + text.slice(place + 1)
}

function without(document: unknown, path: Path): unknown {
  const copy = copyOf(document)
  const [parent, key] = holder(copy, path)
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
  return copy
}

function doubled(document: unknown, path: Path): unknown {
  const copy = copyOf(document)
  const [parent, key] = holder(copy, path)
  if (Array.isArray(parent)) parent.splice(Number(key), 0, copyOf(parent[Number(key)]))
  else parent[`${key}_copy`] = copyOf(parent[key])
  return copy
}

function swappedWithNext(document: unknown, path: Path): unknown {
  const copy = copyOf(document)
  const [parent, key] = holder(copy, path)
  const keys = Object.keys(parent)
  const next = keys[keys.indexOf(`${key}`) + 1]
  if (next === undefined) return undefined
  const kept = parent[key]
  parent[key] = parent[next]
  parent[next] = kept
  return copy
}

function holder(document: unknown, path: Path): [Container, string | number] {
  return [nodeAt(document, path.slice(0, -1)) as Container, path.at(-1) ?? '']
}

const nodeAt = (document: unknown, path: Path): unknown =>
  path.reduce<unknown>((node, key) => (node as Container | null | undefined)?.[key], document)

export function set(document: unknown, path: Path, value: unknown): void {
  const [parent, key] = holder(document, path)
  parent[key] = value
}

const textOf = (value: unknown): string => canonical(value as never)
