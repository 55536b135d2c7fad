import { type Json, stable } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'

/** For values whose type keeps unknown members: the canonical writers refuse at run time whatever is not JSON. */
export const asJson = (value: unknown): Json => value as Json

/** The hashed form of a value, fractions as text. Almost none has one, so they are looked for once it was refused. */
export function hashedText(value: Json): string {
  try {
    return stable(value)
  } catch (error) {
    if (!isUnsupported(error)) throw error
    return stable(fractionsAsText(value))
  }
}

/** True if the hashed form has refused a value, perhaps for a fraction. */
export const isUnsupported = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'canonical.unsupported'

/**
 * The same value with every fraction as its shortest text. Whatever else the hashed form refuses stays as it is, and
 * is refused there: unsafe integers, objects with a class, cycles.
 */
export function fractionsAsText<T>(value: T, depth?: number): T
export function fractionsAsText(value: unknown, depth = 0): unknown {
  if (typeof value === 'number') return Number.isFinite(value) && !Number.isInteger(value) ? `${value}` : value
  if (typeof value !== 'object' || value === null || depth > depthMax) return value
  if (Array.isArray(value)) return value.map((item) => fractionsAsText(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fractionsAsText(item, depth + 1)]))
}

const depthMax = 512

/** Structural equality of JSON values; the order of members does not matter, their presence does. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => Object.hasOwn(b, key) && sameJson(Reflect.get(a, key), Reflect.get(b, key)))
}
