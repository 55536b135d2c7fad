import assert from 'node:assert/strict'
import { test } from 'vitest'
import { ignores, readIgnoreRules } from './gitignore.ts'

test.each([
  ['tmp', 'tmp', true],
  ['tmp', 'a/tmp', true],
  ['tmp/', 'a/tmp', true],
  ['/tmp', 'a/tmp', undefined],
  ['/tmp', 'tmp', true],
  ['a/tmp', 'a/tmp', true],
  ['a/tmp', 'b/a/tmp', undefined],
  ['**/tmp', 'b/a/tmp', true],
  ['**/tmp', 'tmp', true],
  ['a/**', 'a', undefined],
  ['a/**', 'a/b/c', true],
  ['a/**/z', 'a/z', true],
  ['a/**/z', 'a/b/c/z', true],
  ['a*z', 'abcz', true],
  ['a*z', 'abc/z', undefined],
  ['a?c', 'abc', true],
  ['a?c', 'ac', undefined],
  ['[a-c]x', 'bx', true],
  ['[!a-c]x', 'bx', undefined],
  ['# note', '# note', undefined],
  ['\\#a', '#a', true],
  ['a \\  ', 'a  ', true],
  ['tmp  ', 'tmp', true],
  ['t*\n!tmp', 'tmp', false],
  ['!tmp\nt*', 'tmp', true],
  ['', 'tmp', undefined],
  ['.*', '.x', true],
])('the rule %j on the folder %s [K-11]', (text, path, expected) => {
  assert.equal(ignores(readIgnoreRules(text), path.split('/')), expected)
})

test('no pattern makes matching slow [K-11]', () => {
  const rules = readIgnoreRules(`${'*a'.repeat(2_000)}b\n${'**/'.repeat(2_000)}x`)
  assert.equal(ignores(rules, Array(200).fill('a'.repeat(2_000))), undefined)
})
