import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { limits } from '../../base/limits.ts'
import { termsOf } from './words.ts'

test('an identifier gives itself and its parts, split at case, digit and punctuation [K-44]', () => {
  assert.deepEqual(termsOf('onClick'), ['onclick', 'click'])
  assert.deepEqual(termsOf('HTTP2Server'), ['http2server', 'http', '2', 'server'])
  assert.deepEqual(termsOf('shared_buffers'), ['shared_buffers', 'shar', 'buffer'])
  assert.deepEqual(termsOf('sync::watch'), ['sync', 'watch'])
})

test('names that hold signs are kept, and spelled as where there can be none [K-44]', () => {
  assert.deepEqual(termsOf('C++, C#, .NET'), ['c++', 'cpp', 'c#', 'csharp', '.net', 'dotnet'])
  assert.deepEqual(termsOf('Node.js 1.22.'), ['node.js', 'nod', 'js', '1.22'])
})

test('the forms of an English word meet in one term [K-44]', () => {
  const families = [
    'deploy deploys deployed deploying deployment deployments',
    'configure configures configured configuring configuration',
    'index indexes indexed indexing',
    'query queries queried querying',
    'partition partitions partitioned partitioning',
    'class classes',
    'plan plans planned planning',
  ]
  for (const family of families) assert.equal(new Set(termsOf(family)).size, 1, family)
  assert.deepEqual(termsOf('bus ring kubernetes status'), ['bus', 'ring', 'kubernet', 'status'])
})

test('words that say nothing are left out of English, and of nothing else [K-44]', () => {
  assert.deepEqual(termsOf('What is the name of it?'), [])
  assert.deepEqual(termsOf('What is THE pump', 'en-GB'), ['pump'])
  assert.deepEqual(termsOf('was die Pumpen', 'de'), ['was', 'die', 'pumpen'])
  assert.deepEqual(termsOf('the pumps', 'enx'), ['the', 'pumps'])
})

test('Han, kana, Hangul and Thai give overlapping pairs, beside Latin words [K-44]', () => {
  assert.deepEqual(termsOf('東京都の天気'), ['東京', '京都', '都の', 'の天', '天気'])
  assert.deepEqual(termsOf('水 한국어 サーバー'), ['水', '한국', '국어', 'サー', 'ーバ', 'バー'])
  assert.deepEqual(termsOf('用Rust写'), ['用', 'rust', '写'])
  assert.deepEqual(termsOf('น้ำ').length, 3)
})

test('full-width, half-width and composed writing of one word are one term [K-44]', () => {
  assert.deepEqual(termsOf('ＲＵＳＴ'), termsOf('rust'))
  assert.deepEqual(termsOf('ｻｰﾊﾞｰ'), termsOf('サーバー'))
  assert.deepEqual(termsOf('cafe\u0301'), termsOf('café'))
})

test('signs alone give no term [K-44]', () => assert.deepEqual(termsOf('__ ... --- ++ # 🚰 \u0000 \ud800'), []))

test('a term is never longer than the limit, whatever the text [K-44]', () => {
  const hostile = fc.oneof(
    fc.array(fc.integer({ max: 0xffff, min: 0 }), { maxLength: 100 }).map((codes) => String.fromCharCode(...codes)),
    fc.constantFrom('a', 'A', 'aA', 'a.', '1a', '_', 'ﷺ', 'İ', '\ud800').map((unit) => unit.repeat(500)),
  )
  fc.assert(
    fc.property(hostile, (text) => {
      const lengths = termsOf(text).map((term) => term.length)
      assert.ok(Math.max(0, ...lengths) <= limits.knowledgeTermCharsMax && Math.min(1, ...lengths) === 1)
    }),
  )
})

test('terms do not depend on case where nothing is split, nor on what stands around them [K-44]', () => {
  const plain = fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), minLength: 2, maxLength: 12 })
  fc.assert(
    fc.property(plain, plain, (left, right) => {
      assert.deepEqual(termsOf(left.toUpperCase()), termsOf(left))
      assert.deepEqual(termsOf(`(${left}), "${right}"!`), [...termsOf(left), ...termsOf(right)])
    }),
  )
})
