import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { linesOf, outlineOf } from './headings.ts'

const titles = (text: string): readonly string[] =>
  outlineOf(text).headings.map(({ level, title }) => `${level} ${title}`)

test('headings of level 1 to 3 count, with hashes and underlined [K-58]', () => {
  assert.deepEqual(titles('# One\n## Two ##\n### Three\t#\n#### Four\n#No\n####### no\n'), [
    '1 One',
    '2 Two',
    '3 Three',
  ])
  assert.deepEqual(titles('One\n===\n\nTwo\n---\n   # Three\n    # code\n'), ['1 One', '2 Two', '1 Three'])
  assert.deepEqual(titles('#\n# C#\n## ## \n'), ['1 ', '1 C#', '2 '])
})

test('every line ending is one [K-58]', () => {
  for (const end of ['\n', '\r\n', '\r']) assert.deepEqual(titles(['# A', 'x', '', 'B', '-'].join(end)), ['1 A', '2 B'])
})

test('what stands in a code fence is no heading [K-58]', () => {
  assert.deepEqual(titles('```\n# no\n```\n# yes\n'), ['1 yes'])
  assert.deepEqual(titles('~~~ sh\n# no\n```\n# no\n~~~~\n# yes\n'), ['1 yes'])
  assert.deepEqual(titles('````\n```\n# no\n````\n# yes\n'), ['1 yes'])
  assert.deepEqual(titles('```js `x`\n# yes\n'), ['1 yes'])
  assert.deepEqual(titles('```\n# open to the end\n'), [])
  assert.deepEqual(titles('```\nx\n```\n---\n'), [])
})

test('a rule below a paragraph, a list, a table or a quotation makes no heading of it [K-58]', () => {
  for (const line of ['- item', '1. item', '> quoted', '| a | b |', '***', '# title', '']) {
    assert.deepEqual(
      titles(`${line}\n---\n`).filter((title) => title.startsWith('2')),
      [],
    )
  }
  assert.deepEqual(titles('first line\nsecond line\n---\n'), [])
})

test('frontmatter and a byte order mark are no text [K-58]', () => {
  assert.equal(outlineOf('\ufeff# A\n').start, 1)
  assert.deepEqual(outlineOf('---\ntitle: x\n---\n# A\n').start, 17)
  assert.deepEqual(titles('---\ntitle: x\n---\n# A\n'), ['1 A'])
  assert.deepEqual(titles('---\nnever closed\n# A\n'), ['1 A'])
})

test('lines together are the text [K-58]', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\n', '\r', ' ', '#') }), (text) => {
      const lines = [...linesOf(text)]
      assert.equal(lines.map(({ from, to }) => text.slice(from, to)).join(''), text)
      assert(lines.every((line) => !/[\r\n]/.test(line.text)))
    }),
  )
})

test('a megabyte of anything takes linear time [K-58]', () => {
  for (const piece of ['#', '# ', '`', '~', '-', '=', '\r', ' ', '---\n', '```\n', '# a\n', 'a\n-\n']) {
    assert(outlineOf(piece.repeat(1_000_000 / piece.length)).start >= 0)
  }
})
