import assert from 'node:assert/strict'
import { test } from 'vitest'
import { indexFile } from './file-index.ts'
import { fileAt, joinFiles, makeJoiner } from './joined-files.ts'

const files = ['# A\n\none\n\n# B\n\ntwo', '', '# C\n\nheat'].map((text, at) => indexFile(`${at}.md`, text))

test('every section of joined files is found where it stands [K-64]', () => {
  const joined = joinFiles(files)
  const places = [0, 1, 2].map((section) => fileAt(joined, section)).map(({ file, at }) => `${file.path} ${at}`)
  assert.deepEqual(places, ['0.md 0', '0.md 1', '2.md 0'])
  assert.deepEqual(joined.terms.postings.get('heat'), [2, 0, 1])
  assert.deepEqual(joinFiles([]).sections, 0)
})

test('files are joined anew when one of them is another, and only then [K-64 K-88]', () => {
  const join = makeJoiner()
  const key = {}
  const first = join(key, files)
  assert.equal(join(key, [...files]), first)
  assert.notEqual(join(key, files.slice(1)), first)
  const changed = [...files.slice(0, 2), indexFile('2.md', '# C\n\nfour')]
  assert(join(key, changed).terms.postings.has('four'))
})
