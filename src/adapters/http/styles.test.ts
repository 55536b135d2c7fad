import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import { asPairs, encoded, inPath, type PairStyle, type PathStyle } from './styles.ts'

const list = ['blue', 'black', 'brown']
const object = { R: 100, G: 200, B: 150 }

test.each<[PathStyle, boolean, string, string, string]>([
  ['simple', false, 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
  ['simple', true, 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
  ['label', false, '.blue', '.blue,black,brown', '.R,100,G,200,B,150'],
  ['label', true, '.blue', '.blue.black.brown', '.R=100.G=200.B=150'],
  ['matrix', false, ';color=blue', ';color=blue,black,brown', ';color=R,100,G,200,B,150'],
  ['matrix', true, ';color=blue', ';color=blue;color=black;color=brown', ';R=100;G=200;B=150'],
  [
    'json',
    false,
    '%22blue%22',
    '%5B%22blue%22%2C%22black%22%2C%22brown%22%5D',
    '%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D',
  ],
])('in a path, %s with explode %s [H-90]', (style, explode, ...expected) => {
  const write = (value: Json) => inPath(style, { name: 'color', value, explode, write: encoded })
  assert.deepEqual(['blue', list, object].map(write), expected)
})

test.each<[PairStyle, boolean, Json, string]>([
  ['form', true, 'blue', 'color=blue'],
  ['form', true, '', 'color='],
  ['form', true, null, 'color='],
  ['form', true, list, 'color=blue&color=black&color=brown'],
  ['form', false, list, 'color=blue,black,brown'],
  ['form', true, object, 'R=100&G=200&B=150'],
  ['form', false, object, 'color=R,100,G,200,B,150'],
  ['spaceDelimited', false, list, 'color=blue%20black%20brown'],
  ['spaceDelimited', false, object, 'color=R%20100%20G%20200%20B%20150'],
  ['pipeDelimited', false, list, 'color=blue%7Cblack%7Cbrown'],
  ['pipeDelimited', true, list, 'color=blue&color=black&color=brown'],
  ['deepObject', true, object, 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
  ['deepObject', true, { a: { b: [1, 2] } }, 'color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2'],
  ['json', false, object, 'color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D'],
])('in a query, %s with explode %s: %j is %s [H-90]', (style, explode, value, expected) => {
  const pairs = asPairs(style, { name: 'color', value, explode, write: encoded })
  assert.equal(pairs.map((pair) => pair.join('=')).join('&'), expected)
})

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 })
const items = fc.array(text, { minLength: 1, maxLength: 5 })
const members = fc.dictionary(text, text, { minKeys: 1, maxKeys: 5 }).map((made) => ({ ...made }))

// What a server of that style reads, written the other way round.
const decodedParts = (written: string, separator: string) => written.split(separator).map(decodeURIComponent)
const decodedPairs = (written: string, separator: string) =>
  Object.fromEntries(
    written.split(separator).map((pair) => pair.split('=').map(decodeURIComponent) as [string, string]),
  )
const halves = (parts: readonly string[]) =>
  Object.fromEntries(parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1]]] : [])))

test('whatever the texts are, a server reads from a path what was put in [H-90]', () => {
  fc.assert(
    fc.property(text, items, members, (name, values, object) => {
      const path = (style: PathStyle, value: Json, explode: boolean) =>
        inPath(style, { name, value, explode, write: encoded })
      assert.deepEqual(decodedParts(path('simple', values, false), ','), values)
      assert.deepEqual(decodedPairs(path('simple', object, true), ','), object)
      assert.deepEqual(halves(decodedParts(path('simple', object, false), ',')), object)
      assert.deepEqual(decodedParts(path('label', values, false).slice(1), ','), values)
      const matrix = path('matrix', values, true).slice(1).split(';')
      assert.deepEqual(
        matrix.map((part) => part.split('=').map(decodeURIComponent)),
        values.map((value) => [name, value]),
      )
      assert.deepEqual(decodedPairs(path('matrix', object, true).slice(1), ';'), object)
      assert.deepEqual(JSON.parse(decodeURIComponent(path('json', object, false))), object)
    }),
  )
})

test('whatever the texts are, a server reads from a query what was put in [H-90]', () => {
  fc.assert(
    fc.property(text, items, members, (name, values, object) => {
      const query = (style: PairStyle, value: Json, explode: boolean) =>
        asPairs(style, { name, value, explode, write: encoded })
          .map((pair) => pair.join('='))
          .join('&')
      const read = (written: string) => [...new URL(`http://a.example/?${written}`).searchParams]
      assert.deepEqual(
        read(query('form', values, true)),
        values.map((value) => [name, value]),
      )
      assert.deepEqual(Object.fromEntries(read(query('form', object, true))), object)
      assert.deepEqual(
        read(query('deepObject', object, true)),
        Object.entries(object).map(([key, value]) => [`${name}[${key}]`, value]),
      )
      assert.deepEqual(JSON.parse(read(query('json', object, false))[0]?.[1] ?? ''), object)
      const raw = query('form', values, false).slice(encoded(name).length + 1)
      assert.deepEqual(decodedParts(raw, ','), values)
    }),
  )
})

test.each<[PairStyle | PathStyle, Json]>([
  ['form', [[1]]],
  ['form', { a: [1] }],
  ['deepObject', 'text'],
  ['deepObject', { a: [{ b: 1 }] }],
  ['simple', [{ a: 1 }]],
  ['matrix', { a: { b: 1 } }],
])('what has no form as %s is refused: %j [H-90]', (style, value) => {
  const options = { name: 'a', value, explode: false, write: encoded }
  const isPath = ['simple', 'matrix'].includes(style)
  assert.throws(() => (isPath ? inPath(style as PathStyle, options) : asPairs(style as PairStyle, options)), {
    code: 'request_invalid',
    effect: 'none',
  })
})
