import assert from 'node:assert/strict'
import { test } from 'vitest'
import { packOf } from '../../test/support/knowledge.ts'
import { type PackStatus, packStatus } from '../model/knowledge/knowledge.ts'
import { contextResolution } from '../model/knowledge/records.ts'
import { diagnostic } from './diagnostic.ts'
import { type Resolved, recordOf, runIdOf, type UsedPack } from './record.ts'

const used = (status: PackStatus = 'ready', more: Partial<UsedPack> = {}): UsedPack => ({
  pack: packOf({ status }),
  activation: 'implicit',
  files: ['compiled/splits/limits/heat.md', 'documents/start.md'],
  anchors: ['sources/sheet.md#L3'],
  warnings: [],
  ...more,
})

const resolved = (packs: readonly UsedPack[], more: Partial<Resolved> = {}): Resolved => ({
  runId: 'context-1',
  query: 'how hot may it get?',
  used: packs,
  missing: [],
  tokens: 120,
  failed: false,
  version: '0.1.0',
  ...more,
})

test('a record names every pack with how it was activated, what was taken and in which order [K-43 K-87]', () => {
  const warning = diagnostic('claim-stale', 'documents/start.md', 'checked in 2019')
  const record = recordOf(resolved([used('ready', { warnings: [warning] }), used()], { missing: ['price'] }))
  assert.deepEqual(record, {
    run_id: 'context-1',
    query: 'how hot may it get?',
    status: 'passed',
    resolver: { tool: 'ambit', version: '0.1.0', strategy: 'bm25f-sections' },
    activated_packs: [
      {
        name: 'pumps',
        activation: 'implicit',
        status: 'ready',
        trust: 'official',
        grounding: 'none',
        profile: 'document-first',
        runtime_mode: 'data',
        selected_files: ['compiled/splits/limits/heat.md', 'documents/start.md'],
        selected_documents: ['documents/start.md'],
        selected_splits: ['compiled/splits/limits/heat.md'],
        source_anchors: ['sources/sheet.md#L3'],
        warnings: [{ severity: 'warning', message: 'claim-stale: checked in 2019', path: 'documents/start.md' }],
        wrapper_order: 1,
      },
      { ...recordOf(resolved([used()]))?.activated_packs[0], wrapper_order: 2 },
    ],
    missing: ['price'],
    token_estimate: 120,
    wrapper_order: ['pumps', 'pumps'],
  })
  assert.deepEqual(contextResolution.parse(record), record)
})

test('a record is as good as its worst pack, and failed when a named pack was refused [K-52 K-87]', () => {
  assert.deepEqual(
    packStatus.options.map((status) => [status, recordOf(resolved([used(status), used()]))?.status]),
    [
      ['draft', 'needs-review'],
      ['ready', 'passed'],
      ['needs-review', 'needs-review'],
      ['stale', 'stale'],
      ['disputed', 'disputed'],
      ['archived', 'stale'],
    ],
  )
  assert.equal(recordOf(resolved([used()], { failed: true }))?.status, 'failed')
})

test('who built a pack is reported, and that is all [K-05 K-06]', () => {
  const producedBy = { kind: 'skill', name: 'builder', version: '2', digest: 'sha256:1' }
  const record = recordOf(resolved([used('ready', { pack: packOf({ producedBy }) })]))
  assert.deepEqual(record?.activated_packs[0]?.builder_skill, { name: 'builder', version: '2', digest: 'sha256:1' })
  assert(contextResolution.safeParse(record).success)
})

test('where nothing was activated there is no record, only a trace [K-87]', () => {
  assert.equal(recordOf(resolved([])), undefined)
  assert.equal(recordOf(resolved([used()], { query: '  ' })), undefined)
})

test('an id has no colon [K-87]', () => {
  assert.equal(runIdOf('2026-05-06T09:10:00.123Z', 'ab12'), 'context-2026-05-06T09-10-00-123Z-ab12')
})
