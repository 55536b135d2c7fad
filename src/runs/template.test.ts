import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { canonical, type Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { holds, parseCondition } from './condition.ts'
import { parseText, parseValue, renderText, renderValue } from './template.ts'

const at = { where: '', pointer: '/t' }
const text = (source: string, data: { readonly [name: string]: Json }): string =>
  renderText(parseText(source, at), data)
const value = (source: Json, data: { readonly [name: string]: Json }): Json => renderValue(parseValue(source, at), data)
const isTrue = (source: string, data: { readonly [name: string]: Json } = {}): boolean =>
  holds(parseCondition(source, at), data)

const data = { input: { name: 'Ada', n: 3, list: ['x', { y: 1 }], none: null, no: false, empty: '' }, a: 'one' }

test('a placeholder is the value at its path: text as it is, all else as JSON, nothing for what is missing [G-69]', () => {
  const cases: [source: string, rendered: string][] = [
    ['Dear {{input.name}}, {{ a }}!', 'Dear Ada, one!'],
    ['{{input.n}}{{input.no}}{{input.none}}{{input.gone}}{{gone.deep}}{{input.empty}}', '3false'],
    ['{{input.list}} {{input.list.1.y}} {{input.list.9}}', '["x",{"y":1}] 1 '],
    ['{ "a": {{input.n}} } }}', '{ "a": 3 } }}'],
    ['', ''],
  ]
  for (const [source, rendered] of cases) assert.equal(text(source, data), rendered, source)
})

test('a block is there if its condition holds, and blocks nest [G-69]', () => {
  const source =
    'a{{#if input.n > 2}}b{{#if input.no}}c{{/if}}d{{/if}}{{#if input.name == Bob || a == one && input.n}}e{{/if}}f'
  assert.equal(text(source, data), 'abdef')
  assert.equal(text(source, {}), 'af')
})

test('a member that is nothing but a placeholder keeps its type, and null stands for what is missing [G-69]', () => {
  const source = { n: '{{input.n}}', t: 'n={{input.n}}', l: ['{{input.list}}', '{{gone}}', 7, null], '{{a}}': true }
  assert.deepEqual(value(source, data), { n: 3, t: 'n=3', l: [['x', { y: 1 }], null, 7, null], '{{a}}': true })
  assert.equal(value('{{input.n}}', data), 3)
  assert.equal(value(' {{input.n}}', data), ' 3')
})

test('a value is true unless it is missing, null, false, 0 or empty text [G-69]', () => {
  for (const path of ['input.gone', 'input.none', 'input.no', 'input.empty', 'zero'])
    assert.equal(isTrue(`{{${path}}}`, { ...data, zero: 0 }), false, path)
  for (const path of ['input', 'input.name', 'input.n', 'input.list', 'nothing'])
    assert.equal(isTrue(`{{${path}}}`, { ...data, nothing: [] }), true, path)
})

test('values of different types are not equal, an order needs two numbers, and && binds before || [G-69]', () => {
  const facts = { n: 3, t: '3', none: null, o: { a: 1, b: [] }, p: { b: [], a: 1 } }
  const cases: [source: string, expected: boolean][] = [
    ['{{n}} == 3', true],
    ['{{t}} == 3', false],
    ['{{t}} != 3', true],
    ['{{n}} == {{t}}', false],
    ['{{o}} == {{p}}', true],
    ['{{o}} != {{n}}', true],
    ['{{gone}} == null && {{none}} == {{gone}}', true],
    ['{{n}} <= 3 && {{n}} >= 3', true],
    ['{{n}} < 3 || {{n}} > 3', false],
    ['{{n}} > -1.5e1', true],
    ['{{t}} >= 3', false],
    ['{{gone}} < 1', false],
    ['b < c', false],
    ['false && false || true', true],
    ['true || false && false', true],
    ['needs-work == needs-work', true],
  ]
  for (const [source, expected] of cases) assert.equal(isTrue(source, facts), expected, source)
})

test('a path finds own members alone [G-69]', () => {
  const found = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
  for (const name of found) {
    for (const path of [name, `a.${name}`, `o.${name}`, `l.${name}`, `o.${name}.${name}`, `${name}.prototype`]) {
      assert.equal(text(`{{${path}}}`, { a: 'text', o: {}, l: [] }), '', path)
      assert.equal(value(`{{${path}}}`, { a: 'text', o: {}, l: [] }), null, path)
      assert.equal(isTrue(`{{${path}}}`, { a: 'text', o: {}, l: [] }), false, path)
    }
  }
  assert.equal(text('{{a.length}}{{a.0}}', { a: 'text' }), '')
  assert.equal(text('{{o.constructor}}', { o: { constructor: 'mine' } }), 'mine')
})

test('what is no template is refused with its place [G-75]', () => {
  const texts = [
    '{{',
    'a {{b',
    '{{}}',
    '{{ }}',
    '{{a b}}',
    '{{a..b}}',
    '{{.a}}',
    '{{a.}}',
    '{{1a}}',
    '{{a.b!}}',
    '{{>a}}',
    '{{a()}}',
  ]
  const blocks = [
    '{{#if}}x{{/if}}',
    '{{#if }}x{{/if}}',
    '{{#if a}}x',
    '{{/if}}',
    '{{#if a}}{{/if}}{{/if}}',
    '{{#each a}}{{/each}}',
    '{{else}}{{/ if}}',
  ]
  const conditions = [
    '{{#if a ==}}x{{/if}}',
    '{{#if 3 == a}}x{{/if}}',
    '{{#if a = b}}x{{/if}}',
    '{{#if a && }}x{{/if}}',
    '{{#if !a}}x{{/if}}',
  ]
  const deep = `${'{{#if a}}'.repeat(limits.conditionDepthMax + 1)}${'{{/if}}'.repeat(limits.conditionDepthMax + 1)}`
  for (const source of [...texts, ...blocks, ...conditions, deep]) {
    assert.throws(
      () => parseText(source, at),
      (error: Failure) =>
        error.code === 'template.invalid' && error.data['pointer'] === '/t' && error.message.startsWith('`/t`: '),
      source,
    )
  }
  for (const source of [
    '',
    ' ',
    '{{a}} ==',
    '== 3',
    '{{a}} 3',
    '{{a}} === 3',
    'a b',
    '{{a}} & {{b}}',
    '{{a}} ==== 3',
    '({{a}})',
    '{{a',
    '{{a}} ||',
    '!{{a}}',
    '{{a b}}',
    '{{a}} < {{}}',
  ])
    assert.throws(() => parseCondition(source, at), { code: 'template.invalid' }, source)
  assert.throws(() => parseValue({ a: [{ b: '{{' }] }, at), { data: { pointer: '/t/a/0/b' } })
})

test('a template makes no more than its limit, however often it repeats a value [G-69]', () => {
  const half = 'x'.repeat(limits.stateBytesMax / 2)
  assert.equal(text('{{a}}{{a}}', { a: half }).length, limits.stateBytesMax)
  for (const source of ['{{a}}{{a}}.', '{{a}}'.repeat(1_000), '{{#if a}}{{a}}{{a}}{{a}}{{/if}}'])
    assert.throws(() => text(source, { a: half }), { code: 'run.limit' })
  assert.throws(() => value(Array(1_000).fill('{{a}}'), { a: [half] }), { code: 'run.limit' })
  assert.throws(() => text('{{a}}', { a: 'é'.repeat(limits.stateBytesMax / 2 + 1) }), { code: 'run.limit' })
})

// The reference: templates are made as trees, written down, and evaluated from the tree.

type Tree = readonly ({ text: string } | { path: string[] } | { test: Tests; inside: Tree })[]
type Tests = readonly (readonly { left: string[]; operator?: string; right?: Json }[])[]

const names = ['a', 'b', 'c', 'constructor', '0', 'length']
const anyPath = fc
  .tuple(fc.constantFrom('a', 'b', 'constructor'), fc.array(fc.constantFrom(...names), { maxLength: 2 }))
  .map(([first, rest]) => [first, ...rest])
const literal = fc.constantFrom<Json>(null, true, false, 0, 1, -2.5, 'x', 'y-z')
const comparison = fc.oneof(
  fc.record({ left: anyPath }),
  fc.record({ left: anyPath, operator: fc.constantFrom('==', '!=', '<', '<=', '>', '>='), right: literal }),
)
const tests = fc.array(fc.array(comparison, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 })
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.array(
    fc.oneof(
      { maxDepth: 3 },
      fc.record({ text: fc.constantFrom('x', ' ', '{ ', '}}', '}', 'é') }),
      fc.record({ path: anyPath }),
      fc.record({ test: tests, inside: tie('tree') }),
    ),
    { maxLength: 4 },
  ),
}))
const leaf = fc.constantFrom<Json>(null, true, false, 0, 1, -2.5, '', 'x', 'y-z', [], {})
const anyData = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.oneof(
    leaf,
    fc.array(leaf, { maxLength: 2 }),
    fc.dictionary(fc.constantFrom(...names), leaf, { noNullPrototype: true }),
  ),
  { noNullPrototype: true },
)

const writeTests = (groups: Tests, brace: boolean): string =>
  groups
    .map((group) =>
      group
        .map(({ left, operator, right }) => {
          const path = brace ? `{{${left.join('.')}}}` : left.join('.')
          return operator === undefined ? path : `${path} ${operator} ${String(right)}`
        })
        .join(' && '),
    )
    .join(' || ')

const write = (parts: Tree): string =>
  parts
    .map((part) => {
      if ('text' in part) return part.text
      if ('path' in part) return `{{${part.path.join('.')}}}`
      return `{{#if ${writeTests(part.test, false)}}}${write(part.inside)}{{/if}}`
    })
    .join('')

/** Walks entries, so that nothing but own members is ever seen. */
function find(path: readonly string[], from: Json): Json | undefined {
  let found: Json | undefined = from
  for (const name of path) {
    if (found === null || typeof found !== 'object') return undefined
    const entries: [string, Json | undefined][] = Object.entries(found)
    if (Array.isArray(found)) entries.push(['length', found.length])
    found = entries.find(([key]) => key === name)?.[1]
  }
  return found
}

function evaluateTests(groups: Tests, from: Json): boolean {
  return groups.some((group) =>
    group.every(({ left, operator, right = null }) => {
      const found = find(left, from) ?? null
      if (operator === undefined) return ![null, false, 0, ''].includes(found as null)
      if (operator === '==') return canonical(found) === canonical(right)
      if (operator === '!=') return canonical(found) !== canonical(right)
      if (typeof found !== 'number' || typeof right !== 'number') return false
      const sign = Math.sign(found - right)
      return { '<': [-1], '<=': [-1, 0], '>': [1], '>=': [0, 1] }[operator]?.includes(sign) ?? false
    }),
  )
}

const evaluate = (parts: Tree, from: Json): string =>
  parts
    .map((part) => {
      if ('text' in part) return part.text
      if ('inside' in part) return evaluateTests(part.test, from) ? evaluate(part.inside, from) : ''
      const found = find(part.path, from) ?? ''
      return typeof found === 'string' ? found : canonical(found)
    })
    .join('')

test('rendering agrees with a walk over the tree that the template was written from [G-69]', () => {
  fc.assert(
    fc.property(tree, anyData, (parts, facts) => {
      assert.equal(text(write(parts), facts), evaluate(parts, facts))
    }),
    { numRuns: 500 },
  )
})

test('conditions agree with the same reference [G-69]', () => {
  fc.assert(
    fc.property(tests, anyData, (groups, facts) => {
      assert.equal(isTrue(writeTests(groups, true), facts), evaluateTests(groups, facts))
    }),
    { numRuns: 500 },
  )
})

test('any text at all is parsed or refused, and renders nothing but itself and the data [G-69]', () => {
  const pieces = fc.constantFrom(
    '{{',
    '}}',
    '{',
    '}',
    '#if ',
    '/if',
    'a',
    '.',
    ' ',
    '==',
    '&&',
    'constructor',
    '__proto__',
    'x',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      try {
        const rendered = text(parts.join(''), { a: 'A' })
        assert(rendered.length <= parts.join('').length)
        assert(!/function|native|object Object/.test(rendered))
      } catch (error) {
        assert(error instanceof Failure && error.code === 'template.invalid')
      }
    }),
    { numRuns: 1_000 },
  )
})
