import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { limits } from '../../base/limits.ts'
import { cutFrontmatter, isCut } from './frontmatter.ts'

const cut = (text: string) => cutFrontmatter(Buffer.from(text))
const textOf = (text: string): string | undefined => {
  const result = cut(text)
  return 'text' in result ? result.text : undefined
}

test('frontmatter stands between two marks, the first on the first line [K-17 K-20]', () => {
  assert.equal(textOf('---\na: 1\n---\nbody'), 'a: 1\n')
  assert.equal(textOf('\ufeff--- \t\r\na: 1\r\n---'), 'a: 1\n')
  assert.equal(textOf('---\ra: 1\r\r---\r'), 'a: 1\n\n')
  assert.equal(textOf('---\n---'), '')
  for (const text of [
    '',
    '---',
    '---\n',
    '---\na: 1\n----\n',
    ' ---\na: 1\n---\n',
    '---x\na: 1\n---\n',
    '---\na: 1\n --- \n',
  ])
    assert.equal(textOf(text), undefined, JSON.stringify(text))
})

test('a mark at the limit closes only if its line ends there too [K-17]', () => {
  const filled = (bytes: number): string => `---\n${'#'.repeat(bytes - 5)}\n`
  const limit = limits.knowledgeFrontmatterBytesMax
  assert.equal(textOf(`${filled(limit - 4)}---\n`)?.length, limit - 8)
  for (const text of [`${filled(limit - 3)}---\n`, `${filled(limit - 3)}---x\n---\n`, `${filled(limit)}---\n`])
    assert.deepEqual(cut(text), {
      trouble: 'frontmatter-limit',
      why: `the frontmatter does not end within ${limit} bytes`,
    })
})

const piece = fc.constantFrom(
  '---',
  '\n---\n',
  '\n---',
  '\n',
  '\n',
  '\r\n',
  '\r',
  ' ',
  '\t',
  '-',
  'a: b',
  '\ufeff',
  'x'.repeat(300),
  '\0',
  '\xff',
)

test('the head of a file says what the whole file says, or that more is needed [K-13 K-17]', () => {
  let compared = 0
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), fc.boolean(), fc.nat(), (pieces, opens, at) => {
      const whole = Buffer.from(`${opens ? '---\n' : ''}${pieces.join('')}`, 'latin1')
      const head = whole.subarray(0, whole.length - (at % Math.min(40, whole.length + 1)))
      if (isCut(head) || (head.length < 512 && 'trouble' in cutFrontmatter(head))) return
      compared++
      assert.deepEqual(cutFrontmatter(head), cutFrontmatter(whole))
    }),
    { numRuns: 20_000 },
  )
  assert(compared > 500, `only ${compared} compared`)
})
