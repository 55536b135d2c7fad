import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { pointerOf } from '../base/pointer.ts'

/**
 * A copy of the event: the caller may change the original while the copy waits to be written. Refuses, with the place,
 * what a strict reader would refuse in a bundle: an event that cannot be read again proves nothing, nor does any other
 * of its correlation. The size is that of the JSON in UTF-8, escapes not counted. A member of an event is at depth 2.
 */
export function copyEvent<T>(event: T, what = 'event', depth = 1): T {
  return copyValue(event, depth, { what, path: [], bytes: 0 }) as T
}

interface Walk {
  readonly what: string
  readonly path: (string | number)[]
  bytes: number
}

function copyValue(value: unknown, depth: number, walk: Walk): unknown {
  switch (typeof value) {
    case 'string':
      return copyText(value, walk)
    case 'number':
      if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
        throw refusal(walk, 'is a number beyond 2^53 − 1, or none')
      count(walk, `${value}`.length + 1)
      return value === 0 ? 0 : value // JSON has no −0
    case 'boolean':
      count(walk, 5)
      return value
    case 'object':
      count(walk, 3)
      return value === null ? null : copyObject(value, depth, walk)
    default:
      throw refusal(walk, `is ${typeof value}, which JSON has not`)
  }
}

function copyText(text: string, walk: Walk): string {
  count(walk, Buffer.byteLength(text) + 3)
  if (!text.isWellFormed()) throw refusal(walk, 'holds a lone surrogate')
  return text
}

// Cycles end here, or at the count of bytes when they branch.
function copyObject(value: object, depth: number, walk: Walk): object {
  if (depth > limits.eventDepthMax) throw refusal(walk, `lies deeper than ${limits.eventDepthMax} levels`)
  if (Array.isArray(value)) return copyItems(value, depth, walk)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw refusal(walk, 'is an object with a class')
  return copyMembers(value as Readonly<Record<string, unknown>>, depth, walk)
}

function copyItems(items: readonly unknown[], depth: number, walk: Walk): unknown[] {
  const copy: unknown[] = []
  for (let index = 0; index < items.length; index++) {
    walk.path.push(index)
    copy.push(copyValue(items[index], depth + 1, walk))
    walk.path.pop()
  }
  return copy
}

function copyMembers(object: Readonly<Record<string, unknown>>, depth: number, walk: Walk): object {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(object)) {
    const member = object[key]
    if (member === undefined) continue
    walk.path.push(key)
    if (key === '__proto__') throw refusal(walk, 'is not an allowed member name')
    copy[copyText(key, walk)] = copyValue(member, depth + 1, walk)
    walk.path.pop()
  }
  return copy
}

function count(walk: Walk, bytes: number): void {
  walk.bytes += bytes
  if (walk.bytes > limits.eventBytesMax) throw refusal(walk, `goes beyond ${limits.eventBytesMax} bytes`)
}

function refusal({ what: whole, path }: Walk, what: string): Failure {
  const pointer = pointerOf(path)
  return new Failure('field.invalid', `${whole}: ${pointer === '' ? 'it' : quote(pointer)} ${what}`, { pointer })
}
