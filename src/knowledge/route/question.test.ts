import assert from 'node:assert/strict'
import { test } from 'vitest'
import { readQuestion } from './question.ts'

const read = (text: string) => readQuestion(text, { stress: 2 })
const stressed = (text: string) => {
  const { terms, stress } = read(text)
  return terms.filter((term) => stress(term) === 2)
}

test('names and code in a question are stressed, its first word is not [K-44]', () => {
  assert.deepEqual(stressed('Pumps need a seal'), [])
  assert.deepEqual(stressed('Which pump does Northlight sell?'), ['northlight'])
  assert.deepEqual(stressed('what does `seal` mean, or shared_buffers?'), ['seal', 'shared_buffers', 'shar', 'buffer'])
  assert.deepEqual(stressed('seals. Pumps leak'), [])
  assert.deepEqual(stressed('GitHub seals'), ['github', 'git', 'hub'])
})

test('a term that is stressed once is stressed [K-44]', () => {
  assert.deepEqual(stressed('a rust stain or the Rust language'), ['rust'])
})

test('the words stand in order, without the signs around them [K-44]', () => {
  assert.equal(read('the ("Agent" Framework), please').sequence, ' agent framework pleas ')
  assert.deepEqual(read('EF, (DI) and VeryLong').capitals, ['EF', 'DI'])
})
