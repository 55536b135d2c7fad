import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { type DiagnosticCode, severities } from '../diagnostic.ts'
import { type ReadHeader, readHeader } from './header.ts'

const where = { id: 'w:pumps', folder: 'pumps' }
const good = {
  name: 'pumps',
  description: 'Pump limits.',
  type: 'domain-reference',
  status: 'ready',
  profile: 'hybrid',
}
const write = (fields: Readonly<Record<string, string | undefined>>): string =>
  Object.entries({ ...good, ...fields })
    .flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${value}\n`]))
    .join('')
const read = (frontmatter: string): ReadHeader => readBytes(`---\n${frontmatter}---\n# Guide\n`)
const readBytes = (text: string | Uint8Array): ReadHeader => readHeader(Buffer.from(text as string), where)
const codes = (result: ReadHeader): DiagnosticCode[] => result.diagnostics.map(({ code }) => code)

test('a header has every field, defaults where one may be missing, and nothing to report [K-20 K-28]', () => {
  assert.deepEqual(read(write({})), {
    header: { ...good, mode: 'data', trust: 'unreviewed', grounding: 'none', maintainers: [] },
    extra: {},
    digest: sha256(write({})),
    name: 'pumps',
    diagnostics: [],
  })
})

test('every optional field is read, as the text that is written [K-20 K-27 K-28]', () => {
  const more = `runtime:
  mode: persona
trust: official
grounding: recommended
scope: plant 7
version: 1.10
language: de
license: MIT
updated: 2026-01-02
compatibility: true
maintainers:
  - Ann
  - 7
metadata:
  primaryDocument: documents/pumps.md
  primaryOntology: ontology/ontology.json
  primaryAnswers: answers/questions.json
  producedBy:
    kind: builder-skill
    name: maker
    version: 2.0
    digest: abc
`
  const { header, diagnostics } = read(write({}) + more)
  assert.deepEqual(diagnostics, [])
  assert.deepEqual(header, {
    ...good,
    mode: 'persona',
    trust: 'official',
    grounding: 'recommended',
    scope: 'plant 7',
    version: '1.10',
    language: 'de',
    license: 'MIT',
    updated: '2026-01-02',
    compatibility: 'true',
    maintainers: ['Ann', '7'],
    primaryDocument: 'documents/pumps.md',
    primaryOntology: 'ontology/ontology.json',
    primaryAnswers: 'answers/questions.json',
    producedBy: { kind: 'builder-skill', name: 'maker', version: '2.0', digest: 'abc' },
  })
})

test('keys that are not ours are kept at every level, and none is rejected [K-37]', () => {
  const more = 'owner: Ann\nruntime:\n  mode: data\n  speed: 5\nmetadata:\n  team: [a, b]\n  primaryDocument: a.md\n'
  const { header, extra, diagnostics } = read(write({}) + more)
  assert.deepEqual([extra, diagnostics], [{ owner: 'Ann', runtime: { speed: 5 }, metadata: { team: ['a', 'b'] } }, []])
  assert.equal(header?.primaryDocument, 'a.md')
})

const long = (count: number): string => 'ü'.repeat(count)
type Effect = 'quarantine' | Partial<PackHeader>
const table: readonly (readonly [DiagnosticCode, string, Effect])[] = [
  ['frontmatter-missing', '# Guide\n', 'quarantine'],
  ['frontmatter-missing', '', 'quarantine'],
  ['frontmatter-missing', `\n---\n${write({})}---\n`, 'quarantine'],
  ['frontmatter-missing', `---\n${write({})}`, 'quarantine'],
  ['frontmatter-limit', `---\n${write({})}${'#\n'.repeat(limits.knowledgeFrontmatterBytesMax)}---\n`, 'quarantine'],
  ['encoding', `---\n${write({ description: 'a\0b' })}---\n`, 'quarantine'],
  ['encoding', 'a\0b', 'quarantine'],
  ['yaml-invalid', '---\nname: "pumps\n---\n', 'quarantine'],
  ['yaml-invalid', '---\n- a\n---\n', 'quarantine'],
  ['yaml-invalid', '---\n---\n', 'quarantine'],
  ['yaml-refused', `---\n${write({ name: '&a pumps' })}---\n`, 'quarantine'],
  ['field-missing', `---\n${write({ name: undefined })}---\n`, 'quarantine'],
  ['field-missing', `---\n${write({ description: undefined })}---\n`, 'quarantine'],
  ['field-missing', `---\n${write({ description: '"  "' })}---\n`, 'quarantine'],
  ['field-missing', `---\n${write({ description: '"\\u200b"' })}---\n`, 'quarantine'],
  ['field-missing', `---\n${write({ type: '' })}---\n`, 'quarantine'],
  ['field-missing', `---\n${write({ status: '~' })}---\n`, 'quarantine'],
  ['field-type', `---\n${write({ description: '[a]' })}---\n`, 'quarantine'],
  ['field-type', `---\n${write({ version: '{a: 1}' })}---\n`, 'quarantine'],
  ['field-type', `---\n${write({ maintainers: 'Ann' })}---\n`, 'quarantine'],
  ['field-type', `---\n${write({ runtime: 'data' })}---\n`, 'quarantine'],
  ['field-type', `---\n${write({ metadata: '[a]' })}---\n`, 'quarantine'],
  ['description-long', `---\n${write({ description: long(1_025) })}---\n`, { description: long(1_024) }],
  ['compatibility-long', `---\n${write({ compatibility: long(500) })}---\n`, { compatibility: long(499) }],
  ['type-unknown', `---\n${write({ type: 'recipe' })}---\n`, 'quarantine'],
  ['type-unknown', `---\n${write({ type: 'Domain-Reference' })}---\n`, 'quarantine'],
  ['type-unknown', `---\n${write({ type: '"custom:"' })}---\n`, 'quarantine'],
  ['status-unknown', `---\n${write({ status: 'Ready' })}---\n`, { status: 'draft' }],
  ['status-unknown', `---\n${write({ status: '"rea\\u200bdy"' })}---\n`, { status: 'draft' }],
  ['trust-unknown', `---\n${write({ trust: 'verified' })}---\n`, { trust: 'unreviewed' }],
  ['profile-unknown', `---\n${write({ profile: 'graph-first' })}---\n`, { profile: 'wiki-first' }],
  ['mode-unknown', `---\n${write({ runtime: '{mode: agent}' })}---\n`, { mode: 'data' }],
  ['grounding-unknown', `---\n${write({ grounding: 'strict' })}---\n`, { grounding: 'required' }],
  ['profile-missing', `---\n${write({ profile: undefined })}---\n`, { profile: 'wiki-first' }],
  ['value-cleaned', `---\n${write({ description: '"a\\u202eb"' })}---\n`, { description: 'ab' }],
]

test.each(table)('%s: %j [K-23 K-24 K-25 K-26 K-27 K-28 K-29 K-32]', (code, text, effect) => {
  const result = readBytes(text)
  assert.deepEqual(codes(result), [code])
  assert.deepEqual(result.diagnostics[0], { ...result.diagnostics[0], severity: severities[code], pack: 'w:pumps' })
  if (effect === 'quarantine') assert.equal(result.header, undefined)
  else assert.deepEqual(result.header, { ...result.header, ...effect, name: 'pumps' })
})

test('severities and effects are those that were agreed [K-24]', () => {
  const warnings = ['compatibility-long', 'profile-missing', 'value-cleaned']
  const severe = [...new Set(table.map(([code]) => code))].filter((code) => severities[code] !== 'error')
  assert.deepEqual(severe.toSorted(), warnings)
})

test.each([
  ['a', []],
  ['a-1', []],
  ['x'.repeat(64), []],
  ['-a', ['name-hyphen']],
  ['a-', ['name-hyphen']],
  ['a--b', ['name-hyphen']],
  ['x'.repeat(65), ['name-invalid']],
  ['Pumps', ['name-invalid']],
  ['pump_s', ['name-invalid']],
  ['"pump\\u200bs"', ['name-invalid']],
  ['"pumps "', ['name-invalid']],
  ['pümps', ['name-invalid']],
])('the name %s [K-21]', (name, expected) => {
  const result = readHeader(Buffer.from(`---\n${write({ name })}---\n`), { id: 'w:', folder: '' })
  assert.deepEqual(codes(result), expected)
  assert.equal(result.header === undefined, expected.includes('name-invalid'))
})

test('a name unlike its directory is a warning, and without a directory there is none [K-22]', () => {
  const other = readHeader(Buffer.from(`---\n${write({})}---\n`), { id: 'w:x', folder: 'x' })
  assert.deepEqual([codes(other), other.header?.name], [['name-directory'], 'pumps'])
})

test('a custom type has a namespace; another type loads only where it is allowed [K-25]', () => {
  assert.deepEqual(codes(read(write({ type: 'custom:acme/pumps' }))), [])
  const bytes = Buffer.from(`---\n${write({ type: 'recipe' })}---\n`)
  const allowed = readHeader(bytes, where, { types: ['recipe'] })
  assert.deepEqual([allowed.diagnostics, allowed.header?.type], [[], 'recipe'])
  assert.equal(readHeader(bytes, where, { types: ['recipes'] }).header, undefined)
})

test('bytes that are not UTF-8 are refused in the frontmatter and not looked at behind it [K-13 K-24]', () => {
  const head = Buffer.from(`---\n${write({})}`)
  const bad = Buffer.from([0xff, 0x00, 0x0a])
  const end = Buffer.from('---\n')
  assert.deepEqual(codes(readBytes(Buffer.concat([head, end, bad]))), [])
  assert.deepEqual(codes(readBytes(Buffer.concat([head, bad, end]))), ['encoding'])
  assert.deepEqual(codes(readBytes(Buffer.from(`\ufeff---\n${write({})}---\n`, 'utf16le'))), ['encoding'])
})

test('a byte order mark and every line ending give the same header [K-17]', () => {
  const text = `---\n${write({ description: '|\n  one\n  two' })}---  \n# Guide\n`
  const plain = readBytes(text)
  assert.deepEqual([codes(plain), plain.header?.description], [[], 'one\ntwo'])
  for (const ending of ['\n', '\r\n', '\r']) {
    for (const mark of ['', '\ufeff']) {
      assert.deepEqual(readBytes(mark + text.replaceAll('\n', ending)).header, plain.header)
    }
  }
})

test('the digest is that of the bytes between the marks, whatever follows [K-13]', () => {
  const one = readBytes(`---\n${write({})}---\none`)
  assert.equal(one.digest, readBytes(`\ufeff---\n${write({})}---\ntwo`).digest)
  assert.notEqual(one.digest, read(write({ description: 'Other.' })).digest)
})

test('whatever the bytes are, reading answers, and what loads has a name in form [K-18 K-24]', () => {
  const line = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'ab: -[]{}&*!|>\'"%@#,?\t\n\\u0~<') }),
    fc.constantFrom(...Object.entries(good).map(([key, value]) => `${key}: ${value}`)),
  )
  const text = fc.array(line, { maxLength: 12 }).map((lines) => `---\n${lines.join('\n')}\n---\n`)
  fc.assert(
    fc.property(fc.oneof(text.map(Buffer.from), fc.uint8Array({ maxLength: 200 })), (bytes) => {
      const { header, diagnostics } = readHeader(bytes, where)
      if (header === undefined) assert(diagnostics.some(({ severity }) => severity === 'error'))
      else assert.match(header.name, /^[a-z0-9-]{1,64}$/)
    }),
    { numRuns: 3_000 },
  )
})

test('a field without a limit of its own is cut all the same [K-41]', () => {
  const front = `---\nname: pumps\ndescription: d\ntype: domain-reference\nstatus: ready\nversion: ${'1'.repeat(60_000)}\n---\n`
  const { header } = readHeader(Buffer.from(front), { id: 'x', folder: 'pumps' })
  assert.equal(header?.version?.length, 1_024)
})
