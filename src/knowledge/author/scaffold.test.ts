import assert from 'node:assert/strict'
import { test } from 'vitest'
import { readFiles } from '../../../test/support/knowledge-content.ts'
import { packMode, packProfile, packTypes } from '../../model/knowledge/knowledge.ts'
import { countTokens } from '../../tokens/count.ts'
import { lint } from './lint.ts'
import { newPack } from './scaffold.ts'
import { validate } from './validate.ts'

const plain = {
  name: 'pump-seals',
  type: 'domain-reference',
  profile: 'document-first',
  mode: 'data',
  today: '2026-03-14',
} as const

test('a new pack of every type, profile and mode has no finding at all [K-33 K-20]', () => {
  for (const type of [...packTypes, 'custom:acme'])
    for (const profile of packProfile.options)
      for (const mode of packMode.options) {
        const files = newPack({ ...plain, type, profile, mode })
        const { content, diagnostics } = readFiles(files, 'pump-seals')
        assert(content !== undefined, JSON.stringify(diagnostics))
        const findings = [...diagnostics, ...validate(content), ...lint(content, { count: countTokens })]
        assert.deepEqual(findings, [], `${type} ${profile} ${mode}`)
        assert.deepEqual([content.header.type, content.header.profile, content.header.mode], [type, profile, mode])
      }
})

test('a new pack holds an example of every part, and claims no review [K-06 K-52]', () => {
  const files = newPack({
    ...plain,
    description: 'Seals: "when", #why & how. Use it for questions about seals of pumps.',
  })
  assert.deepEqual(
    files.map(({ path }) => path),
    [
      'KNOWLEDGE.md',
      'compiled/splits/pump-seals/facts.md',
      'compiled/splits/pump-seals/limits.md',
      'compiled/splits/pump-seals/pump-seals.md',
      'documents/pump-seals.md',
      'evals/discovery.train.json',
      'evals/discovery.validation.json',
      'indexes/source-map.json',
      'sources/notes.md',
    ],
  )
  const header = readFiles(files, 'pump-seals').content?.header
  assert.deepEqual([header?.status, header?.trust, header?.updated], ['draft', 'unreviewed', '2026-03-14'])
  assert.equal(header?.description, 'Seals: "when", #why & how. Use it for questions about seals of pumps.')
  assert.deepEqual([header?.producedBy?.kind, header?.producedBy?.name], ['tool', 'ambit'])
  assert.deepEqual(files, newPack({ ...plain, description: header?.description }))
})
