import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { sha256 } from '../../base/hash.ts'
import { countTokens } from '../../tokens/count.ts'
import { estimateTokens } from './estimate.ts'
import { indexFile, slugOf } from './file-index.ts'
import { withHeadings } from './section.ts'

const manual = `# Pumps

Pumps move water.

## Limits

At most 3 bar. [source: sources/sheet.md#L31]

### Heat

Below 60 °C, see (sources/heat.md) and \`sources/heat.md\`.

## Empty

## Limits
Second.
`

const bytesOf = (text: string, { from, to }: { from: number; to: number }): string =>
  Buffer.from(text).subarray(from, to).toString()

test('a file is divided at its headings, and the path of headings stays with each section [K-58]', () => {
  const { path, digest, sections } = indexFile('documents/pumps.md', manual, countTokens)
  assert.deepEqual([path, digest], ['documents/pumps.md', sha256(manual)])
  assert.deepEqual(
    sections.map(({ id, headings, firstLine, lastLine }) => [id, headings.join('/'), firstLine, lastLine]),
    [
      ['pumps', 'Pumps', 1, 3],
      ['limits', 'Pumps/Limits', 5, 7],
      ['heat', 'Pumps/Limits/Heat', 9, 11],
      ['limits-2', 'Pumps/Limits', 15, 16],
    ],
  )
  assert.deepEqual(sections.map((section) => bytesOf(manual, section).trim())[2], manual.split('\n')[10])
  assert.deepEqual(
    sections.map(({ marks }) => marks),
    [[], ['sources/sheet.md#L31'], ['sources/heat.md'], []],
  )
  for (const section of sections)
    assert.equal(section.tokens, countTokens(withHeadings(section.headings, bytesOf(manual, section))))
})

test('text before the first heading is a section without headings [K-58]', () => {
  const [section] = indexFile('wiki/a.md', '\ufeff---\nt: 1\n---\nHello.\n').sections
  assert.deepEqual([section?.id, section?.headings, section?.from, section?.to], ['start', [], 16, 22])
})

test('a section over 400 tokens is divided, and its parts are named [K-58]', () => {
  const text = `# Long\n\n${Array.from({ length: 60 }, (_, n) => `Paragraph ${n} says that pump ${n} is fine and runs.`).join('\n\n')}`
  const { sections } = indexFile('documents/a.md', text, countTokens)
  assert(sections.length > 1)
  assert.deepEqual(
    sections.slice(0, 2).map(({ id, slug }) => [id, slug]),
    [
      ['long', 'long'],
      ['long.2', 'long'],
    ],
  )
  assert(sections.every(({ tokens, headings }) => tokens <= 400 && headings[0] === 'Long'))
})

test('a section that fits by count stays whole, whatever the estimate says [K-58]', () => {
  const text = 'word '.repeat(380)
  assert(estimateTokens(text) > 400)
  assert.equal(indexFile('documents/a.md', text, countTokens).sections.length, 1)
})

test('the same section has the same digest in a document and in its split; the same text under another heading has not [K-56]', () => {
  const digest = (text: string) => indexFile('a.md', text).sections.at(-1)?.digest
  for (const body of ['None.', 'The pump runs at three bar and not one bit more, whatever is written on it.']) {
    const document = digest(`# Pumps\n\nAll of them.\n\n## Limits\n\n${body}\n`)
    assert.equal(digest(`# Pumps\n\n## Limits\n\n${body}`), document)
    assert.equal(digest(`# Limits\n${body.replace(' ', '\n')}\n`), document)
    assert.notEqual(digest(`# Pumps\n\n## Heat\n\n${body}\n`), document)
    assert.notEqual(digest(body), document)
  }
})

test('sections are ranges of the bytes of the file in order, whatever it holds [K-58 K-88]', () => {
  const unit = fc.constantFrom(
    '# ',
    '## ',
    'a',
    ' ',
    '\n',
    '\r\n',
    'é',
    '漢',
    '𠀀',
    '```\n',
    '---\n',
    '\ufeff',
    'word. ',
  )
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 200 }), (text) => {
      let done = 0
      const ids = new Set<string>()
      for (const section of indexFile('a.md', text).sections) {
        assert(section.from >= done && section.to > section.from)
        assert(bytesOf(text, section).isWellFormed() && !bytesOf(text, section).includes('\ufffd'))
        assert(section.firstLine <= section.lastLine)
        assert(!ids.has(section.id))
        ids.add(section.id)
        done = section.to
      }
      assert(done <= Buffer.byteLength(text))
    }),
  )
})

test('slugs are letters and digits of any script [K-58]', () => {
  assert.deepEqual(['Über uns!', '限制 2', '…', 'C++ & C#'].map(slugOf), ['über-uns', '限制-2', 'section', 'c-c'])
})

test('hostile files are indexed in linear time [K-58]', () => {
  for (const piece of ['# a\n\nb\n', 'sources/', 'sources/.', 'a', '# a-2\nx\n# a\ny\n']) {
    assert(indexFile('a.md', piece.repeat(200_000 / piece.length)).sections.length > 0)
  }
})
