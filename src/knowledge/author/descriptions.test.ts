import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { givenHeader } from '../../../test/support/knowledge-content.ts'
import { checkDescription } from './descriptions.ts'

const codes = (description: string, more: object = {}): readonly string[] =>
  checkDescription(givenHeader({ description, ...more })).map(({ code }) => code)

test.each([
  ['Service limits and spare parts of the P-100 pumps. Use it for questions about pressure, seals and repair.'],
  ['Answers how refunds, exchanges and warranty claims are handled in our shops.'],
  ['水泵的压力限制、密封件和维修步骤，适用于现场工程师。'],
])('a description that says what and when is good: %s [K-90]', (description) => {
  assert.deepEqual(codes(description), [])
})

test.each([
  ['Pumps'],
  ['Useful information about things'],
  ['The pump manual documentation'],
  ['Our knowledge pack'],
  ['Seals gaskets pressure tables torque values bearings'],
])('a description that is short, generic or does not say when is weak: %s [K-90]', (description) => {
  assert.deepEqual(codes(description, { name: 'pump-manual' }), ['description-weak'])
})

test.each([
  ['Use this pack for any question about work, life and technology in our company.'],
  ['Always use this pack first when users ask about pumps, valves or pipes in the plant.'],
  ['Knows everything about everything; use it for all topics that customers bring up.'],
  [`Pumps for plants: ${Array.from({ length: 30 }, (_, index) => `term${index}`).join(', ')}`],
  ['Use it for pump pump pump pump pump pump questions, pump repair, pump parts and pump price.'],
])('a description that claims everything or heaps keywords is greedy: %s [K-90]', (description) => {
  assert.deepEqual(codes(description), ['description-greedy'])
})

test('a language other than English is not held to English words [K-90]', () => {
  const german = 'Grenzwerte und Ersatzteile der Pumpen P-100, mit Hinweisen zur Wartung im Werk.'
  assert.deepEqual(codes(german, { language: 'de' }), [])
})

test('any description gets an answer, the same each time [K-90 K-19]', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 1_024 }), (description) => {
      assert.deepEqual(codes(description), codes(description))
    }),
  )
})
