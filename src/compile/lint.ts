import type { Json } from '../base/canonical.ts'
import { escapedKey } from '../base/pointer.ts'
import type { Unresolved } from './bindings.ts'

/** Places of a document that hold what never belongs into a pack: secrets, code, and addresses that a secret is part of. */
export const findSecretsIn = (document: Json, pointer = ''): readonly Unresolved[] => {
  if (typeof document === 'string') return textProblems(document, pointer)
  if (typeof document !== 'object' || document === null) return []
  return Object.entries(document).flatMap(([key, value]) => {
    const at = `${pointer}/${escapedKey(key)}`
    return [...textProblems(key, at), ...findSecretsIn(value ?? null, at)]
  })
}

function textProblems(text: string, pointer: string): readonly Unresolved[] {
  if (pointer.startsWith('/signature')) return []
  const found = kinds.find(([, form]) => form.test(text))
  return found === undefined
    ? []
    : [{ pointer, message: `looks like ${found[0]}, which no pack may hold`, code: 'pack.unsafe' }]
}

const kinds: readonly (readonly [string, RegExp])[] = [
  ['a private key', /-----BEGIN [A-Z ]{0,40}PRIVATE KEY/],
  [
    'a token',
    /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[oprsu]_\w{36}|\bglpat-[\w-]{20}|\bxox[abeprs]-[\w-]{20}|\bsk-[\w-]{20}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}/,
  ],
  ['an address with a password', /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@]{0,64}:[^\s:/@]{3,128}@/i],
  ['a password', /(?:passw(?:or)?d|api[_-]?key|client[_-]?secret)\s*[:=]\s*[^\s]{6,}/i],
  ["a person's mail address", /\b[\w.+-]+@[\w-]+\.[a-z]{2,}\b/i],
  ['a card number', /\b(?:\d[ -]?){15,16}\b/],
  [
    'code',
    /\bfunction(?:\s+\w+)?\s*\([^)]{0,200}\)\s*\{|=>\s*[{(]|\brequire\(|\bimport\s[^'"\n]{1,200}\sfrom\s*['"]|\beval\(|<script\b/i,
  ],
]
