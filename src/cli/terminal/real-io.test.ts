import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'vitest'
import { limits } from '../../base/limits.ts'
import { textFrom } from './real-io.ts'

describe('standard input [F-11 F-18]', () => {
  const piped = (...chunks: readonly (string | readonly number[])[]) =>
    textFrom(Readable.from(chunks.map((chunk) => Buffer.from(chunk as string))))

  test('is the text that was piped in, wherever it was cut', async () => {
    const bytes = [...Buffer.from('blåbær\n')]
    assert.equal(await piped(bytes.slice(0, 3), bytes.slice(3)), 'blåbær\n')
    assert.equal(await piped(), '')
    assert.equal((await piped('x'.repeat(limits.stdinBytesMax))).length, limits.stdinBytesMax)
  })

  test('is refused when it is not UTF-8, instead of changed', async () => {
    await assert.rejects(piped([0x61, 0xff, 0x62]), { code: 'file.invalid' })
    await assert.rejects(piped([0xc3]), { code: 'file.invalid' })
  })

  test('is not read without end', async () => {
    await assert.rejects(textFrom(endless()), { code: 'file.too_large' })
  })
})

function* zeros(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(65_536)
}
const endless = (): Readable => Readable.from(zeros())
