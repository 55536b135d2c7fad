import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { readPlain } from './plain-yaml.ts'
import { readYaml } from './yaml.ts'

const lists = (depth: number): string => `a: ${'['.repeat(depth)}${']'.repeat(depth)}\n`
const many = (count: number): string => Array.from({ length: count }, (_, n) => `k${n}: v\n`).join('')

test.each([
  ['an anchor', 'a: &x 1\n'],
  ['an alias', 'a: *x\n'],
  ['aliases that expand', 'a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n'],
  ['a merge key', '<<: {a: 1}\n'],
  ['a tag', 'a: !!int 3\n'],
  ['a tag of its own', 'a: !js/function "x"\n'],
  ['a bare tag', 'a: ! x\n'],
  ['a key twice', 'a: 1\na: 2\n'],
  ['a key twice, in two spellings', 'a: 1\n"a": 2\n'],
  ['a key twice, further down', 'b:\n  a: 1\n  a: 2\n'],
  ['a directive', '%YAML 1.1\na: 1\n'],
  ['a second document', 'a: 1\n...\nb: 2\n'],
  ['nesting past 8', lists(8)],
  ['nesting past the stack', lists(30_000)],
  ['more than 500 nodes', many(250)],
  ['far more than 500 nodes', many(2_000)],
  ['lines without end', `a: 1\n${'\n'.repeat(5_000)}`],
])('%s is refused [K-18]', (_, text) => {
  assert.deepEqual({ ...readYaml(text), why: '' }, { trouble: 'yaml-refused', why: '' })
  assert.equal(readPlain(text), undefined)
})

test('what lies within the limits is read [K-18]', () => {
  assert.deepEqual(readYaml(lists(7)), { map: { a: [[[[[[[]]]]]]] } })
  assert.equal('map' in readYaml(many(249)), true)
  assert.deepEqual(readYaml(`a: 1\n${'\n'.repeat(4_000)}`), { map: { a: 1 } })
})

test('keys of prototypes are plain data [K-18]', () => {
  const text = '__proto__:\n  polluted: 1\nconstructor: x\n'
  for (const map of [readPlain(text), (readYaml(text) as { map: object }).map]) {
    assert.deepEqual(Object.keys(map ?? {}), ['__proto__', 'constructor'])
    assert.equal(Object.getPrototypeOf(map), Object.prototype)
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
})

test.each([
  ['1.10', '1.10'],
  ['1.5', 1.5],
  ['010', '010'],
  ['-0', '-0'],
  ['0x1F', '0x1F'],
  ['1e3', '1e3'],
  ['12345678901234567890', '12345678901234567890'],
  ['.inf', '.inf'],
  ['2026-01-02', '2026-01-02'],
  ['true', true],
  ['True', 'True'],
  ['yes', 'yes'],
  ['~', null],
  ['', null],
  ['"true"', 'true'],
  ['"\\ud800"', '\ufffd'],
])('the value %s is read without loss [K-18]', (written, value) => {
  assert.deepEqual(readYaml(`a: ${written}\n`), { map: { a: value } })
})

test('a refusal repeats nothing of the text [K-24]', () => {
  for (const text of ['secret: "s3cr3t\n', 's3cr3t: 1\ns3cr3t: 2\n', 'a: *s3cr3t\n', 's3cr3t'])
    assert(!JSON.stringify(readYaml(text)).includes('s3cr3t'))
})

const value = fc.oneof(
  fc.constantFrom(
    '',
    'ready',
    '1.10',
    '5',
    'true',
    'null',
    '"a: b"',
    "'it'",
    'a #b',
    'a: b',
    'x:',
    '[a, b]',
    '- a',
    '|',
  ),
  fc.string({ unit: fc.constantFrom(...'ab1.:#-"\'&*!|>%@`,?{}[] \\~<ü\t\u3000'), maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 4 }),
)
const key = fc.constantFrom('a:', 'b:', 'c:', 'd:', 'e:', 'f:', 'g:', '__proto__:', '-', '-', '#', 'd', '<<:', '?')
const line = fc
  .tuple(
    fc.constantFrom('', '', '', '', ' ', '  ', '    '),
    key,
    fc.oneof(value, fc.constant('plain'), fc.constant('')),
  )
  .map((parts) => `${parts[0]}${parts[1]} ${parts[2]}`)
const text = fc.array(line, { maxLength: 6 }).map((lines) => `${lines.join('\n')}\n`)

test('where the quick reader answers, the full one answers the same [K-18 K-20]', () => {
  let answered = 0
  fc.assert(
    fc.property(text, (written) => {
      const map = readPlain(written)
      if (map === undefined) return
      answered++
      assert.deepEqual(readYaml(written), { map })
    }),
    { numRuns: 20_000 },
  )
  assert(answered > 1_000, `only ${answered} were answered`)
})

test('the quick reader answers for what packs are usually written like [K-20]', () => {
  const usual = 'name: a\ndescription: "Limits: of pumps"\nruntime:\n  mode: data\nmaintainers:\n  - Ann B\n# end\n'
  assert.deepEqual(readPlain(usual), {
    name: 'a',
    description: 'Limits: of pumps',
    runtime: { mode: 'data' },
    maintainers: ['Ann B'],
  })
})
