import assert from 'node:assert/strict'
import { test } from 'vitest'
import { chooseFrom, type Files, resolve, world } from '../../../test/support/knowledge-selection.ts'
import { sourceMap } from '../../model/knowledge/records.ts'

const pumps: Files = {
  'documents/pumps.md':
    '# Pumps\n\n## Pressure\n\nThe pressure is at most 3 bar.\n\n## Heat\n\nThe heat is below 60 degrees.\n',
  'compiled/splits/pumps/pressure.md': '# Pressure\n\nThe pressure is at most 3 bar.\n',
  'compiled/briefing.md': '# Briefing\n\nAll about the plant.\n',
  'sources/sheet.md': '# Sheet\n\nMeasured pressure: 3 bar.\n',
}
const primary = { primaryDocument: 'documents/pumps.md' }
const edited = (text: string): Files => ({ ...pumps, 'documents/pumps.md': text })

test('a split that its document has left behind is never sent, whatever is asked and in every profile [K-52 K-58 K-88]', () => {
  const changed = edited('# Pumps\n\nNew.\n\n## Pressure\n\nThe pressure is at most 5 bar.\n')
  const gone = edited('# Pumps\n\nThe pressure is not known.\n')
  const map = sourceMap.parse({
    claims: [],
    document_sections: [
      {
        document: 'documents/pumps.md',
        section_id: 'pressure',
        title: 'Pressure',
        source_anchors: ['documents/pumps.md#L3'],
        compiled_into: ['compiled/splits/pumps/pressure.md'],
      },
    ],
  })
  for (const profile of ['document-first', 'wiki-first', 'hybrid'] as const)
    for (const query of ['pressure', 'pumps pressure in bar', 'pressure pump heat', 'pressure that nothing covers']) {
      const given = (files: Files) => [world({ ...primary, profile }, files, { sourceMap: map })]
      const { text } = resolve(given(changed), { query })
      assert.deepEqual([/5 bar/.test(text), /3 bar/.test(text)], [true, false], `${profile}: ${query}`)
      // The section has moved to line 5; the anchor of the source map has not.
      assert.match(text, /section="pressure" anchors="documents\/pumps\.md#L5"/)
      assert.doesNotMatch(resolve(given(gone), { query }).text, /3 bar/)
    }
})

test('the source map says which document a split is of, before its folder does [K-58]', () => {
  const files = {
    'documents/manual.md': '# Manual\n\n## Pressure\n\nThe pressure is at most 5 bar.\n',
    'compiled/splits/pumps/pressure.md': '# Pressure\n\nThe pressure is at most 3 bar.\n',
  }
  const section = { document: './documents/manual.md', section_id: 'pressure', title: 'Pressure' }
  const map = sourceMap.parse({
    claims: [],
    document_sections: [{ ...section, compiled_into: ['./compiled/splits/pumps/pressure.md'] }],
  })
  const { text } = resolve([world({}, files, { sourceMap: map })], { query: 'pressure' })
  assert.deepEqual([/5 bar/.test(text), /3 bar/.test(text)], [true, false])
})

test('a split of a document that is gone is never sent beside documents, and alone only with a warning [K-52 K-58 K-65]', () => {
  const split = { 'compiled/splits/pumps/pressure.md': '# Pressure\n\nThe pressure is at most 3 bar.\n' }
  const other = { 'documents/pumps-v2.md': '# Pumps\n\n## Pressure\n\nThe pressure is at most 5 bar.\n' }
  const section = { document: 'documents/pumps.md', section_id: 'heat', title: 'Heat' }
  const run = { run_id: 'r', trigger: 'manual', status: 'passed', outputs: [] as [] } as const
  const inputs = [{ path: './documents/pumps.md' }]
  const says = [
    world({}, split, { sourceMap: sourceMap.parse({ claims: [], document_sections: [section] }) }),
    world({}, split, { runs: [{ path: 'runs/compile-1.json', run: { ...run, inputs } }] }),
    world(primary, split),
  ]
  for (const profile of ['document-first', 'wiki-first', 'hybrid'] as const)
    for (const { facts } of says) {
      const { header } = facts.pack
      const sent = (files: Files) =>
        resolve([world({ ...header, profile }, files, { sourceMap: facts.sourceMap, runs: facts.runs })], {
          query: 'pressure',
        })
      const { text, packs } = sent({ ...split, ...other })
      assert.deepEqual([/5 bar/.test(text), /3 bar/.test(text)], [true, false], profile)
      assert.match(text, /code="split-orphaned".*: `documents\/pumps\.md` is not in the pack: its splits are not used/)
      assert(packs[0]?.warnings.some(({ code, path }) => code === 'split-orphaned' && path === 'compiled/splits/pumps'))
      const alone = sent(split).text
      assert.match(alone, /3 bar/)
      assert.match(alone, /code="split-orphaned".*: nothing shows whether its splits are still true/)
    }
})

test('splits count as they are where no document of the pack was ever named for them [K-58]', () => {
  const split = { 'compiled/splits/pumps/pressure.md': '# Pressure\n\nThe pressure is at most 3 bar.\n' }
  const other = { 'documents/valves.md': '# Valves\n\nThey close.\n', 'sources/sheet.md': '# Sheet\n\nText.\n' }
  for (const document of [
    undefined,
    'https://example.org/pumps.md',
    'sources/pumps.md',
    'sources/sheet.md',
    'pumps.pdf',
  ]) {
    const section = { section_id: 'pressure', title: 'Pressure', compiled_into: Object.keys(split) }
    const sections = document === undefined ? [] : [{ ...section, document }]
    const map = sourceMap.parse({ claims: [], document_sections: sections })
    for (const files of [split, { ...split, ...other }]) {
      const { text } = resolve([world({}, files, { sourceMap: map })], { query: 'pressure' })
      assert.deepEqual([/3 bar/.test(text), /split-orphaned/.test(text)], [true, false], document)
    }
  }
})

test('of a text that stands in several places all warnings and anchors stay [K-52 K-65 K-88]', () => {
  const claim = (n: number, status: 'stale' | 'disputed' | 'inferred', target: string, path = `sources/${n}.md`) =>
    ({ claim_id: `${n}`, text: 't', status, source: { path }, compiled_into: [target] }) as const
  const same = '# Pressure\n\nThe pressure is at most 3 bar.\n'
  const files = {
    'compiled/facts.md': same,
    'compiled/pressure.md': same,
    'wiki/pressure.md': same,
    'sources/1.md': 'a',
    'sources/2.md': 'b',
    'sources/3.md': 'c',
  }
  const claims = [
    claim(1, 'stale', 'compiled/facts.md'),
    claim(2, 'disputed', 'compiled/pressure.md'),
    claim(3, 'inferred', 'wiki/pressure.md'),
  ]
  const sourced = { sourceMap: sourceMap.parse({ claims }) }
  const given = world({ profile: 'wiki-first' }, files, sourced)
  const other = world(
    { name: 'other', profile: 'wiki-first' },
    { 'compiled/facts.md': same },
    {
      sourceMap: sourceMap.parse({ claims: [claim(4, 'inferred', 'compiled/facts.md')] }),
    },
  )
  for (const query of ['pressure', 'facts about pressure', 'wiki pressure bar']) {
    const { packs, choice } = resolve([given, other], { query })
    assert.equal(packs.length, 1)
    const [sent] = choice.packs[0]?.sections ?? []
    const codes = sent?.warnings.map(({ code, pack }) => `${code} ${pack}`)
    assert.deepEqual(codes?.toSorted(), [
      'claim-disputed workspace:pumps',
      'claim-inferred workspace:other',
      'claim-inferred workspace:pumps',
      'claim-stale workspace:pumps',
      'source-missing workspace:other',
    ])
    assert.deepEqual(sent?.anchors.toSorted(), ['sources/1.md', 'sources/2.md', 'sources/3.md'])
    for (const code of ['claim-stale', 'claim-disputed', 'claim-inferred'])
      assert(packs[0]?.text.includes(`code="${code}"`))
  }
})

test('a claim about a split warns of the section it is a copy of, and of the document if that is gone [K-52 K-65]', () => {
  const into = (target: string) =>
    sourceMap.parse({
      claims: [
        { claim_id: '1', text: 't', status: 'stale', source: { path: 'sources/sheet.md' }, compiled_into: [target] },
      ],
    })
  const warned = (target: string, query: string) => {
    const { choice } = chooseFrom([world(primary, pumps, { sourceMap: into(target) })], { query })
    return choice.packs[0]?.sections.map(
      ({ section, warnings }) => `${section.id} ${warnings.map(({ code }) => code).join()}`,
    )
  }
  for (const query of ['pressure', 'pumps pressure'])
    assert.deepEqual(warned('compiled/splits/pumps/pressure.md', query)?.[0], 'pressure claim-stale')
  assert.deepEqual(warned('compiled/splits/pumps/pressure.md', 'heat'), ['heat '])
  assert.deepEqual(warned('compiled/splits/pumps/noise.md', 'heat'), ['heat '])
  const renamed = { ...pumps, 'compiled/splits/pumps/noise.md': '# Noise\n\nLoud.\n' }
  const { choice } = chooseFrom([world(primary, renamed, { sourceMap: into('compiled/splits/pumps/noise.md') })], {
    query: 'heat',
  })
  assert.deepEqual(
    choice.packs[0]?.sections[0]?.warnings.map(({ code }) => code),
    ['claim-stale'],
  )
})
