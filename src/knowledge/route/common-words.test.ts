import assert from 'node:assert/strict'
import { test } from 'vitest'
import { isEveryday, keepOf } from './common-words.ts'
import { termsOf } from './words.ts'

test('every form of an everyday word keeps little of its rarity, and a name keeps all [K-44]', () => {
  for (const term of termsOf('explains implementation implementing differences patterns')) {
    assert.ok(isEveryday(term) && keepOf(term) < 0.3, term)
  }
  for (const term of termsOf('cavitation Northlight impeller')) assert.equal(keepOf(term), 1)
})

test('a word that many fields use keeps more than one that all use [K-44]', () => {
  const [all, many, some] = termsOf('explain deployment cache').map(keepOf)
  assert.ok((all ?? 1) < (many ?? 0) && (many ?? 1) < (some ?? 0) && (some ?? 1) < 1)
})
