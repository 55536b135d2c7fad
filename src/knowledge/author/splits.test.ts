import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { readFiles } from '../../../test/support/knowledge-content.ts'
import { importDocuments } from './import-docs.ts'
import type { PackContent, PackText } from './pack-content.ts'
import { refreshSplits } from './splits.ts'
import { validate } from './validate.ts'

const pumps = '# Pumps\n\nWhat they are.\n\n## Limits\n\nAt most 9 bar.\n\n## Seals\n\nReplace them yearly.\n'
const valves = '# Valves\n\n## Seals\n\nReplace them never.\n'

type Change = Readonly<Record<string, string | undefined>>

/** An imported pack with these changes of files. */
function givenPack(change: Change = {}, text = pumps): PackContent {
  const documents = [
    { path: 'pumps.md', text },
    { path: 'valves.md', text: valves },
  ]
  return changed(readFiles(importDocuments({ name: 'pumps', documents }), 'pumps').content as PackContent, change)
}

function changed(pack: PackContent, change: Change): PackContent {
  const all = new Map<string, string | undefined>(pack.files.map(({ path, text }) => [path, text]))
  for (const [path, text] of Object.entries(change)) all.set(path, text)
  const files = [...all].flatMap(([path, text]) => (text === undefined ? [] : [{ path, text }]))
  return { ...pack, paths: files.map(({ path }) => path).sort(), files }
}

const written = (files: readonly PackText[]): Change => Object.fromEntries(files.map(({ path, text }) => [path, text]))
const mapIn = (files: readonly PackText[]) =>
  JSON.parse(files.find(({ path }) => path === 'indexes/source-map.json')?.text ?? '{}')

test('a pack whose splits say what its documents say stays as it is [K-88 K-89]', () => {
  assert.deepEqual(refreshSplits(givenPack()), { files: [], findings: [] })
  const layout = { 'compiled/splits/pumps/limits.md': '---\nby: ida\n---\n## Limits\r\n\r\nAt most\r\n9 bar.\r\n' }
  assert.deepEqual(refreshSplits(givenPack(layout)), { files: [], findings: [] })
})

test('changed, new and moved sections are made again, and nothing else [K-88 K-89]', () => {
  const pack = givenPack({
    'documents/pumps.md': `New first line.\n\n${pumps.replace('9 bar', '12 bar')}\n## Noise\n\nUnder 60 dB.\n`,
    'KNOWLEDGE.md': '---\nname: pumps\n---\nMine.',
    'compiled/facts.md': '# Facts\n\nAt most 9 bar.\n',
  })
  const codes = validate(pack).map(({ code, path }) => `${code} ${path}`)
  assert(codes.includes('split-outdated compiled/splits/pumps/limits.md'))
  const { files, findings } = refreshSplits(pack)
  assert.deepEqual(
    files.map(({ path }) => path),
    [
      'compiled/splits/pumps/start.md',
      'compiled/splits/pumps/limits.md',
      'compiled/splits/pumps/noise.md',
      'indexes/source-map.json',
    ],
  )
  assert.deepEqual(findings, [])
  assert.equal(written(files)['compiled/splits/pumps/limits.md'], '# Pumps\n\n## Limits\n\nAt most 12 bar.\n')
  const lines = mapIn(files).document_sections.map((one: { source_anchors: string[] }) => one.source_anchors[0])
  assert.deepEqual(
    lines,
    ['L1', 'L3', 'L7', 'L11', 'L15'].map((line) => `documents/pumps.md#${line}`).concat('documents/valves.md#L3'),
  )
  const after = changed(pack, written(files))
  assert.deepEqual(refreshSplits(after), { files: [], findings: [] })
  assert(validate(after).every(({ code }) => code !== 'split-outdated' && code !== 'anchor-missing'))
})

test('claims, and anchors of sections into sources, stay as a person wrote them [K-65 K-88]', () => {
  const claim = { claim_id: 'c', text: 't', status: 'stale', source: { path: 'sources/a.md', anchor: 'L1' } }
  const section = { document: 'documents/pumps.md', section_id: 'limits', title: 'Old title' }
  const map = {
    claims: [claim],
    document_sections: [{ ...section, source_anchors: ['sources/a.md#L1', 'documents/pumps.md#L1'] }],
  }
  const given = { 'indexes/source-map.json': JSON.stringify(map), 'sources/a.md': 'x' }
  const after = mapIn(refreshSplits(givenPack(given)).files)
  assert.deepEqual(after.claims, [claim])
  const limits = after.document_sections.find((one: { section_id: string }) => one.section_id === 'limits')
  assert.deepEqual([limits.title, limits.source_anchors], ['Limits', ['sources/a.md#L1', 'documents/pumps.md#L5']])
  for (const text of ['{', '{"claims":[]}', undefined])
    assert(
      refreshSplits(givenPack({ 'indexes/source-map.json': text })).files.every(({ path }) => !/^indexes/.test(path)),
    )
})

test('a split whose section is gone is told, and not deleted; a document without splits gets none [K-89]', () => {
  const gone = givenPack({
    'documents/pumps.md': '# Pumps\n\nWhat they are.\n',
    'documents/new.md': '# New\n\nText.\n',
  })
  const { files, findings } = refreshSplits(gone)
  assert.deepEqual(
    findings.map(({ code, path }) => `${code} ${path}`),
    ['split-outdated compiled/splits/pumps/limits.md', 'split-outdated compiled/splits/pumps/seals.md'],
  )
  assert.deepEqual(
    files.map(({ path }) => path),
    ['indexes/source-map.json'],
  )
})

const line = fc.constantFrom(
  '# A',
  '## A',
  '### B',
  'A',
  '===',
  '---',
  '```',
  '- x',
  '> y',
  '',
  '',
  'At most 9 bar.',
  '    z',
  '#',
  '# #',
)

test('whatever a document holds, what was made again is not made twice [K-88 K-89]', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 14 }), fc.array(line, { maxLength: 14 }), (before, now) => {
      const pack = givenPack({ 'documents/pumps.md': now.join('\n') }, before.join('\n'))
      const { files } = refreshSplits(pack)
      const again = refreshSplits(changed(pack, written(files)))
      assert.deepEqual(again.files, [])
    }),
  )
})
