import { canonical, type Json } from '../base/canonical.ts'
import { escapedKey } from '../base/pointer.ts'

export interface Difference {
  readonly pointer: string
  readonly from?: Json | undefined
  readonly to?: Json | undefined
}

/** The places in which two documents differ, deepest first to be named; what only one of them has is missing in the other. */
export function differencesOf(a: Json | undefined, b: Json | undefined, pointer = ''): readonly Difference[] {
  if (a !== undefined && b !== undefined && canonical(a) === canonical(b)) return []
  if (!isNested(a) || !isNested(b) || Array.isArray(a) !== Array.isArray(b)) return [{ pointer, from: a, to: b }]
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return keys.flatMap((key) => differencesOf(a[key], b[key], `${pointer}/${escapedKey(key)}`))
}

const isNested = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null
