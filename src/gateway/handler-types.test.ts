import assert from 'node:assert/strict'
import { test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../base/canonical.ts'
import { defineCapability, type Handler } from './capability.ts'

const spec = { id: 'test.types', version: '1.0.0', description: 'Has types.' }

interface Reading {
  readonly room: string
  readonly celsius: number | null
  readonly note?: string | undefined
  readonly before: readonly Reading[]
}
const read: Handler<unknown, Reading> = () => reading
const reading: Reading = { room: 'north', celsius: 4, before: [] }

// The compiler reads this file too: a line that is to be refused and is not fails there.
test('what a handler answers is JSON for the compiler already: interfaces pass, a date, a map and a function do not [H-18]', () => {
  const passing = [
    defineCapability(spec, () => reading),
    defineCapability(spec, async () => [reading, null, 'text', 1, true] as const),
    defineCapability(spec, async () => (await Promise.resolve('{}')) as unknown),
    defineCapability(spec, (input): Json => input),
    defineCapability(spec, () => undefined),
    defineCapability(spec, read),
    defineCapability(spec, () => {}),
    defineCapability(spec, () => {
      throw new Error('never answers')
    }),
    defineCapability(spec, (): Reading | Promise<Reading> => reading),
    defineCapability({ ...spec, input: z.strictObject({ order: z.string() }) }, ({ order }) => ({ order })),
    defineCapability(spec, async function* () {
      yield { celsius: 4 }
      return reading
    }),
  ]
  const refused = [
    // @ts-expect-error a date
    defineCapability(spec, () => new Date()),
    // @ts-expect-error a date in a member
    defineCapability(spec, () => ({ ...reading, at: new Date() })),
    // @ts-expect-error a date in a promise
    defineCapability(spec, async () => ({ at: new Date() })),
    // @ts-expect-error a date in one of two answers
    defineCapability(spec, async (input) => (input['x'] === 1 ? { at: new Date() } : { at: 'now' })),
    // @ts-expect-error a date in a list
    defineCapability(spec, () => [[new Date()]]),
    // @ts-expect-error a map
    defineCapability(spec, async () => new Map([['north', 4]])),
    // @ts-expect-error a set in a member
    defineCapability(spec, () => ({ rooms: new Set(['north']) })),
    // @ts-expect-error a function
    defineCapability(spec, () => () => reading),
    // @ts-expect-error a function in a member
    defineCapability(spec, () => ({ read: () => reading })),
    // @ts-expect-error a number that JSON does not have
    defineCapability(spec, () => ({ cents: 1n })),
    // @ts-expect-error a date at the end of a stream
    defineCapability(spec, async function* () {
      yield 1
      return { at: new Date() }
    }),
    // @ts-expect-error a date as part of a stream
    defineCapability(spec, async function* () {
      yield new Date()
      return 1
    }),
  ]
  assert.deepEqual([passing.length, refused.length], [11, 12])
})
