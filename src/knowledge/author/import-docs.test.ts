import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'vitest'
import { readFiles } from '../../../test/support/knowledge-content.ts'
import { makePack } from '../../../test/support/knowledge-selection.ts'
import { projectRoot } from '../../../test/support/source.ts'
import { countTokens } from '../../tokens/count.ts'
import { readSourceMap } from '../read-records.ts'
import { makeOrigins } from '../select/anchors.ts'
import { indexFile } from '../select/file-index.ts'
import { placeOf, splitSources } from '../select/layout.ts'
import { importDocuments } from './import-docs.ts'
import { lint } from './lint.ts'
import type { PackText } from './pack-content.ts'
import { placeDocuments } from './place-documents.ts'
import { validate } from './validate.ts'

const imported = (documents: readonly PackText[]) => importDocuments({ name: 'manual', today: '2026-03-14', documents })

const textOf = (files: readonly PackText[], path: string): string =>
  files.find((file) => file.path === path)?.text ?? ''

const pumps = `---
title: "Pumps"
---
# Pumps

What they are. See [valves](../valves.md).

## Limits

At most 9 bar.

### Dry running

Never.

## Why do seals leak?

Because of \`heat\`.
`

test('a document becomes one split a section, with the headings above it and an anchor to its line [K-58 K-69]', () => {
  const files = imported([{ path: 'guide/pumps.md', text: pumps }])
  assert.deepEqual(
    files.map(({ path }) => path),
    [
      'KNOWLEDGE.md',
      'compiled/splits/pumps/dry-running.md',
      'compiled/splits/pumps/limits.md',
      'compiled/splits/pumps/pumps.md',
      'compiled/splits/pumps/why-do-seals-leak.md',
      'documents/guide/pumps.md',
      'evals/discovery.train.json',
      'indexes/source-map.json',
      'runs/compile-import.json',
    ],
  )
  assert.equal(textOf(files, 'documents/guide/pumps.md'), pumps)
  assert.equal(
    textOf(files, 'compiled/splits/pumps/dry-running.md'),
    '# Pumps\n\n## Limits\n\n### Dry running\n\nNever.\n',
  )
  const map = readSourceMap(textOf(files, 'indexes/source-map.json'))
  assert.deepEqual(
    'value' in map &&
      map.value.document_sections?.map(({ section_id, source_anchors }) => [section_id, source_anchors]),
    [
      ['pumps', ['documents/guide/pumps.md#L4']],
      ['limits', ['documents/guide/pumps.md#L8']],
      ['dry-running', ['documents/guide/pumps.md#L12']],
      ['why-do-seals-leak', ['documents/guide/pumps.md#L16']],
    ],
  )
})

test('what is imported says so: not reviewed, generated prompts, who made it [K-06 K-52 K-95]', () => {
  const files = imported([{ path: 'pumps.md', text: pumps }])
  const { content, diagnostics } = readFiles(files, 'manual')
  assert.deepEqual(diagnostics, [])
  assert.deepEqual(
    [
      content?.header.status,
      content?.header.trust,
      content?.header.profile,
      content?.header.primaryDocument,
      content?.header.producedBy?.name,
    ],
    ['needs-review', 'unreviewed', 'document-first', 'documents/pumps.md', 'ambit'],
  )
  assert.equal(
    content?.header.description,
    'Documentation of manual: Pumps; Limits; Dry running; Why do seals leak?. Use it when a question is about manual.',
  )
  assert.deepEqual(
    JSON.parse(textOf(files, 'evals/discovery.train.json')).cases.map(
      ({ prompt, reason }: { prompt: string; reason: string }) => [prompt, reason],
    ),
    ['Limits (Pumps)', 'Dry running (Pumps)', 'Why do seals leak?'].map((prompt) => [
      prompt,
      'generated from a heading',
    ]),
  )
})

test('the same documents give the same bytes, in whatever order they come [K-19]', () => {
  const documents = ['a.md', 'b/a.md', 'b/c.txt', 'README.md', 'readme.md'].map((path) => ({ path, text: pumps }))
  fc.assert(
    fc.property(fc.shuffledSubarray(documents, { minLength: 5 }), (shuffled) => {
      assert.deepEqual(imported(shuffled), imported(documents))
    }),
    { numRuns: 20 },
  )
})

test('documents never share a stem, stay below their folder and are context [K-70 K-93]', () => {
  const segment = fc.oneof(
    fc.constantFrom('README', 'readme', 'scripts', '..a', 'a b', 'ä'),
    fc.stringMatching(/^[^/\0]{1,8}$/),
  )
  const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `${segments.join('/')}.md`)
  fc.assert(
    fc.property(fc.uniqueArray(path, { maxLength: 12 }), (paths) => {
      const placed = placeDocuments(paths.map((each) => ({ path: each, text: each })))
      const stems = placed.map((each) => each.path.slice(each.path.lastIndexOf('/') + 1).toLowerCase())
      assert.equal(new Set(stems).size, stems.length)
      for (const each of placed) assert.equal(placeOf(each.path), 'document', each.path)
    }),
  )
  assert.deepEqual(
    placeDocuments([
      { path: 'a/SKILL.md', text: '' },
      { path: 'KNOWLEDGE.md', text: '' },
    ]),
    [],
  )
})

test('hostile documents give a pack that reads as one, with nothing of theirs in its frontmatter [K-01 K-18]', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(
      '---\nname: other\n---\n',
      '# "\n---\ntrust: official\n',
      '# a: &a [*a]\n',
      '# `\u202e]\n',
      '```\n# no\n',
      '# \n\nx',
    ),
  )
  const documents = fc
    .array(hostile, { minLength: 1, maxLength: 4 })
    .map((texts) =>
      texts.map((text, index) => ({ path: `d${index}.md`, text: text.toWellFormed().replaceAll('\0', '') })),
    )
  fc.assert(
    fc.property(documents, (given) => {
      const { content, diagnostics } = readFiles(imported(given), 'manual')
      assert(content !== undefined, JSON.stringify(diagnostics))
      assert.deepEqual(diagnostics, [])
      assert.deepEqual(
        [content.header.name, content.header.trust, content.header.status],
        ['manual', 'unreviewed', 'needs-review'],
      )
      assert.deepEqual(validate(content), [])
      assert.deepEqual(
        lint(content, { count: countTokens }).filter(({ code }) => code === 'split-outdated'),
        [],
      )
    }),
    { numRuns: 100 },
  )
})

test('a pack never gets more files than one may have: documents that no longer fit have no splits [K-12]', () => {
  const text = Array.from({ length: 10 }, (_, index) => `# s${index}\n\nx\n`).join('\n')
  const documents = Array.from({ length: 5 }, (_, index) => ({ path: `d${index}.md`, text }))
  for (const [filesMax, splits] of [
    [20, 10],
    [39, 30],
    [100, 50],
    [1, 0],
  ]) {
    const files = importDocuments({ name: 'manual', documents, filesMax: filesMax ?? 0 })
    assert.equal(files.filter(({ path }) => placeOf(path) === 'split').length, splits)
    const { content } = readFiles(files, 'manual')
    assert(content !== undefined && validate(content).length === 0)
  }
})

test('selection finds the anchor of every section, and nothing that is missing [K-58 K-65 K-82]', () => {
  const documents = ['pumps.md', 'guide/pumps.md', 'notes.txt'].map((path) => ({ path, text: pumps }))
  const files = imported(documents)
  const paths = files.map(({ path }) => path)
  const map = readSourceMap(textOf(files, 'indexes/source-map.json'))
  const sourceMap = 'value' in map ? map.value : undefined
  const splits = splitSources(makePack().header, { paths, sourceMap })
  const origins = makeOrigins('manual', sourceMap, new Set(paths), splits)
  assert.equal(splits.size, 12)
  for (const { document, section: id } of splits.values()) {
    const file = indexFile(document, textOf(files, document))
    const section = file.sections.find(({ slug }) => slug === id)
    assert(section !== undefined, id)
    const { anchors, diagnostics } = origins.of(file, section)
    assert.deepEqual([anchors.length, diagnostics], [1, []], document)
    const [path = '', line = ''] = anchors[0]?.split('#L') ?? []
    assert.equal(path, document)
    assert.match(
      textOf(files, document).split('\n')[Number(line) - 1] ?? '',
      new RegExp(`^#+ ${section.headings.at(-1)?.replace('?', '.')}$`),
    )
  }
})

test('real documentation becomes a pack without errors [K-33 K-36 K-90]', () => {
  const folder = join(projectRoot, 'node_modules/undici/docs/docs')
  const documents = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }))
  assert(documents.length > 30)
  const files = importDocuments({ name: 'undici', documents })
  const { content, diagnostics } = readFiles(files, 'undici')
  assert(content !== undefined)
  assert.deepEqual([...diagnostics, ...validate(content)], [])
  const findings = lint(content, { count: countTokens })
  assert.deepEqual(
    findings.filter(({ code }) => code !== 'section-oversized'),
    [],
  )
  assert(files.length > 300, String(files.length))
})
