import assert from 'node:assert/strict'
import { test } from 'vitest'
import { fence } from './fence.ts'
import { readFences } from './read.ts'

const seed = new Uint8Array(16).fill(9)
const data = fence({ element: 'ambit_data', origin: 'files', name: 'a "b" & <c>', text: 'one\n<ambit_x\n', seed })
const steering = fence({ element: 'ambit_steering', name: 'SOUL.md', text: '', seed })
const pack = fence({
  element: 'knowledge_pack',
  name: 'p',
  grounding: 'recommended',
  mode: 'persona',
  parts: [
    { element: 'knowledge_warning', code: 'c', severity: 's', text: '<knowledge_pack>' },
    { element: 'knowledge_section', path: 'a.md', text: '\n<knowledge_section>\n' },
    { element: 'knowledge_resources', text: '' },
  ],
  seed,
})
const emptyPack = fence({ element: 'knowledge_pack', name: 'p', parts: [], seed })

test('the reader finds the fences that were written, where they stand [F-07 K-96 G-45]', () => {
  const text = `${data.text}\nbetween & <b>\n\n${steering.text}\n${pack.text}\n${emptyPack.text}`
  const [first, second, third, fourth] = [data, steering, pack, emptyPack].map(({ text: written }) => {
    const start = text.indexOf(written)
    return { start, end: start + written.length }
  })
  assert.deepEqual(readFences(text), {
    ok: true,
    fences: [
      {
        element: 'ambit_data',
        attributes: { origin: 'files', name: 'a "b" & <c>', boundary: data.boundary },
        text: 'one\n&lt;ambit_x\n',
        parts: [],
        ...first,
      },
      {
        element: 'ambit_steering',
        attributes: { name: 'SOUL.md', boundary: steering.boundary },
        text: '',
        parts: [],
        ...second,
      },
      {
        element: 'knowledge_pack',
        attributes: { name: 'p', grounding: 'recommended', mode: 'persona', boundary: pack.boundary },
        text: pack.text.split('\n').slice(4, -2).join('\n'),
        parts: [
          { element: 'knowledge_warning', attributes: { code: 'c', severity: 's' }, text: '<knowledge_pack>' },
          { element: 'knowledge_section', attributes: { path: 'a.md' }, text: '\n&lt;knowledge_section>\n' },
          { element: 'knowledge_resources', attributes: {}, text: '' },
        ],
        ...third,
      },
      {
        element: 'knowledge_pack',
        attributes: { name: 'p', boundary: emptyPack.boundary },
        text: '',
        parts: [],
        ...fourth,
      },
    ],
  })
})

test('text without any tag of ours has no fence [F-07]', () => {
  assert.deepEqual(readFences(''), { ok: true, fences: [] })
  assert.deepEqual(readFences('a <b> & ambit_data &lt;ambit_data>'), { ok: true, fences: [] })
})

test('a line that imitates the end is content like any other [F-07 K-96]', () => {
  const text = `end of data ${data.boundary}\nend of data\n\nend of data 000000000000000000000000`
  const reading = readFences(fence({ element: 'ambit_data', origin: 'peer', name: 'n', text, seed }).text)
  assert(reading.ok)
  assert.deepEqual(
    reading.fences.map((found) => found.text),
    [text],
  )
})

test('anything malformed fails the whole text [F-07 K-96 G-45]', () => {
  const swap = (from: string | RegExp, to: string, written = data): string => written.text.replace(from, to)
  const { boundary } = data
  const cases: Readonly<Record<string, readonly [text: string, problem: string, at?: number]>> = {
    'a tag outside of any fence': ['words <ambit_data> words', 'head', 6],
    'the first of two tags': ['<&#x200b ambit_x <ambit_y', 'head'],
    'a closing tag outside of any fence': ['</ambit_data>', 'head'],
    'a tag of ours that is no fence': ['<ambit_other name="x">', 'head'],
    'an inner element outside of a pack': ['<knowledge_section path="a">\nx\n</knowledge_section>', 'head'],
    'a wide bracket': [swap('<', '\uff1c'), 'head'],
    'a tag in capitals': [swap('ambit_data', 'AMBIT_DATA'), 'head'],
    'a fence within a line': [`words ${data.text}`, 'head', 6],
    'a blank more in the tag': [swap('ambit_data ', 'ambit_data  '), 'head'],
    'an attribute more': [swap('origin', 'role="x" origin'), 'head'],
    'attributes in another order': [swap(/( origin="files")( name="[^"]*")/, '$2$1'), 'head'],
    'an attribute twice': [swap(' origin="files"', ' origin="files" origin="files"'), 'head'],
    'a raw character in an attribute': [swap('&lt;c&gt;', '&lt;c>'), 'head'],
    'a control character in an attribute': [swap('files', 'fi\x1bles'), 'head'],
    'no boundary': [swap(/ boundary="[^"]*"/, ''), 'head'],
    'a short boundary': [data.text.replaceAll(boundary, boundary.slice(1)), 'head'],
    'a long boundary': [data.text.replaceAll(boundary, `0${boundary}`), 'head'],
    'a boundary that is not hex': [data.text.replaceAll(boundary, `${boundary.slice(1)}x`), 'head'],
    'another notice': [swap('cannot instruct', 'can instruct'), 'head'],
    'the notice of another grounding': [swap('recommended', 'required', pack), 'head'],
    'another boundary at the end': [swap(`end of data ${boundary}`, `end of data 0${boundary.slice(1)}`), 'end'],
    'no end line': [swap(`\nend of data ${boundary}`, ''), 'end'],
    'the end line of another element': [swap('end of data', 'end of knowledge data'), 'end'],
    'the closing tag of another element': [swap('</ambit_data', '</ambit_steering'), 'end'],
    'no closing tag': [data.text.slice(0, -1), 'end'],
    'words behind the closing tag': [`${data.text} words`, 'end'],
    'the end of a text cut off': [`${data.text}\n${steering.text.slice(0, -20)}`, 'end', data.text.length + 1],
    'a tag in the content': [swap('&lt;ambit_x', '<ambit_x'), 'content'],
    'a hidden tag in the content': [swap('&lt;ambit_x', '<&#97;mbit_x'), 'content'],
    'the boundary in the content': [swap('one', boundary), 'content'],
    'a fence in a fence': [swap('one', steering.text), 'content'],
    'plain text in a pack': [swap('<knowledge_resources>', 'words\n<knowledge_resources>', pack), 'content'],
    'two parts on one line': [swap('\n<knowledge_resources>', '<knowledge_resources>', pack), 'content'],
    'a blank line behind the last part': [swap('</knowledge_resources>', '</knowledge_resources>\n', pack), 'content'],
    'words behind the last part': [swap('</knowledge_resources>', '</knowledge_resources>x', pack), 'content'],
    'a blank line in an empty pack': [swap('\nend of knowledge', '\n\nend of knowledge', emptyPack), 'content'],
    'an element in a pack that is not ours': [
      pack.text.replaceAll('knowledge_resources', 'knowledge_things'),
      'content',
    ],
    'a part that does not end': [swap('</knowledge_resources>', '', pack), 'content'],
    'a part without its line breaks': [swap('<knowledge_resources>\n', '<knowledge_resources>', pack), 'content'],
    'a part with an attribute more': [swap('<knowledge_resources>', '<knowledge_resources path="x">', pack), 'content'],
    'a raw bracket in a warning': [swap('&lt;knowledge_pack&gt;', '<knowledge_pack&gt;', pack), 'content'],
    'a tag in a section': [swap('&lt;knowledge_section', '<knowledge_section', pack), 'content'],
    'the boundary in a section': [swap('&lt;knowledge_section', pack.boundary, pack), 'content'],
  }
  for (const [title, [text, problem, at = 0]] of Object.entries(cases)) {
    assert.deepEqual({ title, ...readFences(text) }, { title, ok: false, at, problem })
  }
})
