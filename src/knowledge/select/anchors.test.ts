import assert from 'node:assert/strict'
import { test } from 'vitest'
import { chooseFrom, type Files, world } from '../../../test/support/knowledge-selection.ts'
import { sourceMap } from '../../model/knowledge/records.ts'

const pumps: Files = {
  'documents/pumps.md': '# Pumps\n\n## Pressure\n\nThe pressure is at most 3 bar.\n',
  'compiled/splits/pumps/pressure.md': '# Pressure\n\nThe pressure is at most 3 bar.\n',
  'compiled/briefing.md': '# Briefing\n\nAll about the plant.\n',
  'sources/sheet.md': '# Sheet\n\nMeasured pressure: 3 bar.\n',
}
const primary = { primaryDocument: 'documents/pumps.md' }

const map = sourceMap.parse({
  claims: [
    {
      claim_id: '1',
      text: 'p',
      status: 'stale',
      source: { path: 'sources/sheet.md', anchor: 'L3' },
      document: 'documents/pumps.md',
      section_id: 'pressure',
    },
    {
      claim_id: '2',
      text: 'p',
      status: 'confirmed',
      source: { path: 'sources/gone.md' },
      compiled_into: ['./compiled/splits/pumps/pressure.md'],
    },
    {
      claim_id: '3',
      text: 'h',
      status: 'disputed',
      source: { path: '../../etc/passwd' },
      compiled_into: ['compiled/briefing.md#other'],
    },
  ],
  document_sections: [
    {
      document: 'documents/pumps.md',
      section_id: 'pressure',
      title: 'Pressure',
      source_anchors: ['sources/sheet.md#sheet', 'sources/no.md#L1'],
    },
  ],
})

test('anchors are those of the chosen sections, and each is there; claims warn where they went [K-36 K-65 K-88]', () => {
  const { choice } = chooseFrom([world(primary, pumps, { sourceMap: map })], { query: 'pressure' })
  assert.deepEqual(choice.packs[0]?.sections[0]?.anchors, ['sources/sheet.md#L3', 'sources/sheet.md#sheet'])
  assert.deepEqual(
    choice.diagnostics.map(({ code, path }) => `${code} ${path}`),
    ['claim-stale documents/pumps.md', 'source-missing sources/gone.md', 'anchor-missing documents/pumps.md'],
  )
})

test('a source or an anchor that leads out of the pack is an error, and is not passed on [K-65 K-70]', () => {
  const out = sourceMap.parse({
    claims: [
      {
        claim_id: '1',
        text: 'p',
        status: 'confirmed',
        source: { path: '../../../etc/passwd', anchor: 'L1' },
        compiled_into: ['compiled/splits/../splits/pumps/pressure.md'],
      },
    ],
    document_sections: [
      { document: 'documents/pumps.md', section_id: 'pressure', title: 'P', source_anchors: ['/etc/hosts#L1'] },
    ],
  })
  const { choice } = chooseFrom([world(primary, pumps, { sourceMap: out })], { query: 'pressure' })
  assert.deepEqual(choice.packs[0]?.sections[0]?.anchors, [])
  assert.deepEqual(
    choice.diagnostics.map(({ code, severity, message }) => `${code} ${severity} ${message}`),
    [
      'path-escape error `../../../etc/passwd#L1` leads out of the pack',
      'path-escape error `/etc/hosts#L1` leads out of the pack',
    ],
  )
})

test('sources are opened when evidence is asked for or a chosen section is disputed, and only those pointed at [K-57 K-63]', () => {
  const files = { ...pumps, 'sources/other.md': '# Pressure\n\nPressure pressure pressure.' }
  const disputed = { ...map, claims: map.claims.map((claim) => ({ ...claim, status: 'disputed' as const })) }
  const opened = (sources: typeof map, evidence: boolean) => {
    const result = chooseFrom([world(primary, files, { sourceMap: sources })], { query: 'pressure', evidence })
    const roles = result.choice.packs[0]?.sections.map(({ role, path }) => `${role} ${path}`)
    return [result.opened.filter((path) => path.startsWith('sources/')), roles?.slice(1)]
  }
  assert.deepEqual(opened(map, false), [[], []])
  assert.deepEqual(opened(map, true), [['sources/sheet.md'], ['evidence sources/sheet.md']])
  assert.deepEqual(opened(disputed, false), [['sources/sheet.md'], ['evidence sources/sheet.md']])
})

test('evidence that is asked for is looked up, and a place that its file does not have is no anchor [K-63 K-65 K-88]', () => {
  const pointers = ['L1', 'L4', 'L5', 'L3-L9', 'sheet', 'nowhere', 'page=7'].map((place) => `sources/sheet.md#${place}`)
  const section = { document: 'documents/pumps.md', section_id: 'pressure', title: 'P', source_anchors: pointers }
  const given = [world(primary, pumps, { sourceMap: sourceMap.parse({ claims: [], document_sections: [section] }) })]
  const asked = (evidence: boolean) => chooseFrom(given, { query: 'pressure', evidence })
  const { choice } = asked(true)
  assert.deepEqual(
    choice.packs[0]?.sections[0]?.anchors.map((anchor) => anchor.split('#')[1]),
    ['L1', 'L4', 'sheet', 'page=7'],
  )
  assert.deepEqual(
    choice.diagnostics.map(({ code, message }) => `${code} ${message.split('`')[1]}`),
    ['L5', 'L3-L9', 'nowhere'].map((place) => `anchor-missing sources/sheet.md#${place}`),
  )
  assert(!asked(false).opened.includes('sources/sheet.md'))
})

test('where grounding is required a section without an anchor says so [K-64 K-75]', () => {
  const grounded = { ...primary, grounding: 'required' } as const
  const codes = (more = {}) =>
    chooseFrom([world(grounded, pumps, more)], { query: 'pressure' }).choice.diagnostics.map(({ code }) => code)
  assert.deepEqual(codes(), ['ungrounded'])
  assert(!codes({ sourceMap: map }).includes('ungrounded'))
})
