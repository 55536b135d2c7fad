import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import {
  chooseFrom,
  chosenIn,
  type Files,
  resolve,
  type World,
  world,
} from '../../../test/support/knowledge-selection.ts'
import { checkLayout } from '../author/layout.ts'
import type { RecordedRun } from './run-findings.ts'

const pumps: Files = {
  'documents/pumps.md':
    '# Pumps\n\n## Pressure\n\nThe pressure is at most 3 bar.\n\n## Heat\n\nThe heat is below 60 degrees.\n',
  'documents/valves.md': '# Valves\n\nA valve closes in 2 seconds.\n',
  'compiled/splits/pumps/pressure.md': '# Pressure\n\nThe pressure is at most 3 bar.\n',
  'compiled/briefing.md': '# Briefing\n\nAll about the plant.\n',
  'sources/sheet.md': '# Sheet\n\nMeasured pressure: 3 bar.\n',
  'indexes/notes.md': '# Pressure\n\nThe pressure is 9 bar.\n',
  'runs/notes.md': '# Pressure\n\nThe pressure is 9 bar.\n',
}
const primary = { primaryDocument: 'documents/pumps.md' }

test('a split stands for its section of the document, which is what is sent [K-56 K-57 K-58 K-63]', () => {
  const { choice, opened } = chooseFrom([world(primary, pumps)], { query: 'pressure' })
  assert.deepEqual(chosenIn(choice), ['documents/pumps.md#pressure'])
  assert.deepEqual(opened, ['documents/pumps.md', 'compiled/briefing.md'])
})

test('a split without its document is sent itself [K-58]', () => {
  const { 'documents/pumps.md': _, ...rest } = pumps
  assert.deepEqual(chosenIn(chooseFrom([world({}, rest)], { query: 'pressure' }).choice), [
    'compiled/splits/pumps/pressure.md#pressure',
  ])
})

test('what documents with splits leave open is looked for in others [K-56 K-57 K-58]', () => {
  const { choice } = chooseFrom([world(primary, pumps)], { query: 'pressure heat valve' })
  assert.deepEqual([...chosenIn(choice)].sort(), [
    'documents/pumps.md#heat',
    'documents/pumps.md#pressure',
    'documents/valves.md#valves',
  ])
  assert.deepEqual(
    choice.dropped.map(({ path, section, why }) => `${path}#${section} ${why}`),
    ['compiled/briefing.md#briefing weak'],
  )
})

test('the same long text under two headings is two facts, and both are sent [K-56]', () => {
  const long = 'The pump runs at three bar and not one bit more, whatever is written on it.'
  const files = { 'documents/pumps.md': `# Model A\n\n${long}\n\n# Model B\n\n${long}\n` }
  const { choice } = chooseFrom([world(primary, files)], { query: 'pump' })
  assert.deepEqual(chosenIn(choice), ['documents/pumps.md#model-a', 'documents/pumps.md#model-b'])
})

test('indexes, runs and sources are never chosen from, whatever is asked [K-62 K-63]', () => {
  for (const query of ['pressure', 'measured sheet', 'pressure 9 bar', 'nothing of this']) {
    const { choice, opened } = chooseFrom([world(primary, pumps)], { query })
    for (const path of [...opened, ...chosenIn(choice)]) assert.doesNotMatch(path, /^(?:indexes|runs|sources)/)
  }
})

const wiki: Files = {
  'compiled/facts.md': '# Facts\n\nThe pressure is 3 bar.\n',
  'compiled/oddly-named.md': '# Heat\n\nThe heat is 60 degrees.\n',
  'wiki/pressure.md': '# Pressure\n\nLong story of pressure.\n',
  'wiki/valve.md': '# Valve\n\nThe valve closes.\n',
}

test('wiki pages are opened when one view does not answer all: a gap, several to join, or a flag [K-59]', () => {
  const opened = (query: string, more = {}) =>
    chooseFrom([world({ profile: 'wiki-first' }, wiki, more)], { query }).opened
  const views = ['compiled/facts.md', 'compiled/oddly-named.md']
  const all = [...views, 'wiki/pressure.md', 'wiki/valve.md']
  assert.deepEqual(opened('heat'), views)
  assert.deepEqual(opened('valve'), all)
  assert.deepEqual(opened('pressure heat'), all)
  for (const status of ['stale', 'disputed', 'confirmed'] as const) {
    const claim = {
      claim_id: 'c',
      text: 'x',
      status,
      source: { path: 'sources/a.md' },
      compiled_into: ['compiled/facts.md'],
    }
    assert.deepEqual(opened('pressure', { sourceMap: { claims: [claim] } }), status === 'confirmed' ? views : all)
  }
})

const persona: Files = {
  'compiled/voice.md': '# Voice\n\nDry and short.\n',
  'compiled/boundaries.md': '# Boundaries\n\nNever speaks of prices.\n',
  'compiled/history.md': '# History\n\nFounded in 1990 in Kiel.\n\n# Logo\n\nA blue fish.\n',
}
const mira = { name: 'mira', mode: 'persona', profile: 'wiki-first' } as const

test('a persona gives voice and limits whatever is asked, and facts only as needed [K-61]', () => {
  const asked = (query: string) => [...chosenIn(chooseFrom([world(mira, persona)], { query }).choice)].sort()
  assert.deepEqual(asked('write a greeting'), ['compiled/boundaries.md#boundaries', 'compiled/voice.md#voice'])
  assert.deepEqual(asked('when was it founded'), [
    'compiled/boundaries.md#boundaries',
    'compiled/history.md#history',
    'compiled/voice.md#voice',
  ])
})

test('data prefers facts, procedures, policies, parameters and limits where matches are alike [K-61]', () => {
  const files = {
    'compiled/a.md': '# Story\n\nThe pump is blue today.',
    'compiled/b.md': '# Facts\n\nThe pump is green today.',
  }
  const { choice } = chooseFrom([world({ profile: 'wiki-first' }, files)], { query: 'pump' })
  assert.deepEqual(chosenIn(choice), ['compiled/b.md#facts', 'compiled/a.md#story'])
})

test('boundaries that speak of what is asked come before the facts, or are the answer where there is no other [K-61 K-73]', () => {
  const files = {
    ...wiki,
    'compiled/boundaries.md': '# Boundaries\n\nPressure holds for water only.\n\n# Else\n\nNo colours.\n',
  }
  const { choice } = chooseFrom([world({ profile: 'wiki-first' }, files)], { query: 'pressure' })
  const [first, second] = choice.packs[0]?.sections ?? []
  assert.deepEqual([first?.role, first?.path, second?.role], ['constraint', 'compiled/boundaries.md', 'fact'])
  const alone = chooseFrom([world({ profile: 'wiki-first' }, files)], { query: 'colours' }).choice.packs[0]?.sections
  assert.deepEqual(
    alone?.map(({ role, path }) => `${role} ${path}`),
    ['fact compiled/boundaries.md'],
  )
})

test('a persona that never says where it stops is reported [K-31]', () => {
  const codes = (files: Files, guide = '') =>
    chooseFrom([world(mira, files, { guide })], { query: 'voice' }).choice.diagnostics.map(({ code }) => code)
  const { 'compiled/boundaries.md': _, ...open } = persona
  assert.deepEqual(codes(open), ['persona-boundaries'])
  assert.deepEqual(codes(persona), [])
  assert.deepEqual(codes(open, '## Boundaries\n'), [])
  assert.deepEqual(codes({ ...open, 'compiled/more.md': '# Taboos\n\nNone.' }), [])
})

test('selection and validation agree whether a persona says where it stops [K-31]', () => {
  const { 'compiled/boundaries.md': _, ...open } = persona
  const told = [
    ['compiled/guardrails.md', '# Rules\n\nNone.'],
    ['compiled/more.md', '# What she must not say\n\nPrices.'],
    ['compiled/more.md', '# 边界\n\n不谈价格。'],
    ['compiled/more.md', '# Limits\n\nPrices.'],
    ['compiled/more.md', '# Prices\n\nAre told within their limits.'],
    ['assets/limits/logo.md', '# Logo\n\nA fish.'],
  ] as const
  const found = told.map(([path, text]) => {
    const files = { ...open, [path]: text }
    const given = world(mira, files)
    const { header } = given.facts.pack
    const texts = Object.entries(files).map(([name, own]) => ({ path: name, text: own }))
    const reports = (list: readonly { readonly code: string }[]) =>
      list.some(({ code }) => code === 'persona-boundaries')
    const validated = reports(checkLayout({ header, paths: Object.keys(files), files: texts }))
    assert.equal(reports(chooseFrom([given], { query: 'voice' }).choice.diagnostics), validated, path)
    return validated
  })
  assert.deepEqual(found, [false, false, false, false, true, true])
})

test('every choice keeps its reason, and every dropped candidate too [K-68]', () => {
  const { choice } = chooseFrom([world(primary, pumps)], { query: 'pressure heat valve', budget: 170 })
  const [section] = choice.packs[0]?.sections ?? []
  assert.deepEqual([section?.tier, section?.place, section?.matched, section?.rank], [1, 'document', ['valv'], 1])
  assert(section !== undefined && section.score > 0)
  assert.deepEqual(
    choice.dropped.map(({ path, section: id, why, matched, rank }) => [path, id, why, matched.length, rank].join(' ')),
    [
      'compiled/briefing.md briefing weak 0 4',
      'documents/pumps.md pressure budget 1 2',
      'documents/pumps.md heat budget 1 3',
    ],
  )
})

test('required facts and a query that nothing covers are missing, with advice [K-67]', () => {
  const missing = (query: string, required: readonly string[] = []) =>
    chooseFrom([world(primary, pumps)], { query, required }).choice.missing.map(({ fact }) => fact)
  assert.deepEqual(missing('pressure'), [])
  assert.deepEqual(missing('tulip prices'), ['tulip prices'])
  assert.deepEqual(missing('pressure', ['pressure in bar', 'warranty']), ['warranty'])
  const { choice } = chooseFrom([], { query: 'anything' })
  assert.deepEqual(choice.missing, [{ fact: 'anything', recommendation: 'ask_user_or_mark_unknown' }])
})

test('the newest compile run warns of what it found in chosen files [K-64 K-66]', () => {
  const run = (path: string, message: string, at = 'compiled/splits/pumps/pressure.md'): RecordedRun => {
    const diagnostics = [{ severity: 'warning' as const, message, path: at }]
    return { path, run: { run_id: path, trigger: 'manual', status: 'passed', inputs: [], outputs: [], diagnostics } }
  }
  const runs = [run('runs/compile-2.json', 'new'), run('runs/compile-1.json', 'old')]
  const told = (given: typeof runs) =>
    chooseFrom([world(primary, pumps, { runs: given })], { query: 'pressure' }).choice.diagnostics.map(
      ({ code, message }) => `${code} ${message}`,
    )
  assert.deepEqual(told(runs), ['run-finding the last compile run reports: new'])
  assert.deepEqual(told([run('runs/compile-3.json', 'elsewhere', 'documents/x.md')]), [])
})

test('no budget is large enough to send what was not asked for [K-56 K-60]', () => {
  const files = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [`documents/d${n}.md`, `# Part ${n}\n\nAll about topic${n}, at length.\n`]),
  )
  for (const profile of ['document-first', 'hybrid'] as const) {
    const { choice } = chooseFrom([world({ profile }, files)], { query: 'topic7', budget: 1_000_000 })
    assert.deepEqual(chosenIn(choice), ['documents/d7.md#part-7'])
  }
})

test('what is required is looked for even if the query does not name it [K-67]', () => {
  const { choice } = chooseFrom([world(primary, pumps)], { query: 'pressure', required: ['valve'] })
  assert.deepEqual([...chosenIn(choice)].sort(), ['documents/pumps.md#pressure', 'documents/valves.md#valves'])
  assert.deepEqual(choice.missing, [])
})

test('a file cut at its limit says so [K-64 K-76]', () => {
  const text = '# Pump\n\nx\n'.repeat(50_001)
  const { choice } = chooseFrom([world(primary, { 'documents/pumps.md': text })], { query: 'pump' })
  assert(choice.diagnostics.some(({ code, path }) => code === 'scan-limit' && path === 'documents/pumps.md'))
})

test('when a file changes the next choice uses the new text [K-88]', () => {
  const before = world(primary, pumps)
  const after = {
    ...before,
    files: { ...pumps, 'documents/pumps.md': '# Flow\n\nThe flow is 4 litres.\n' },
  }
  const chosen = (given: World, query: string) => chosenIn(chooseFrom([given], { query }).choice)
  assert.deepEqual(chosen(before, 'flow litres'), ['compiled/briefing.md#briefing'])
  assert.deepEqual(chosen(after, 'flow litres'), ['documents/pumps.md#flow'])
  assert.deepEqual(chosen(before, 'flow litres'), ['compiled/briefing.md#briefing'])
})

test('a document-first pack with nothing but its guide gives the guide as an overview, and the gap is told [K-30]', () => {
  const guide = '# Pumps\n\nFor the plant in Kiel.\n\n## Known gaps\n\nNo pressure yet.\n'
  const entry = { 'KNOWLEDGE.md': `---\nname: pumps\n---\n${guide}` }
  const roles = (files: Files, query: string, header = {}) => {
    const { choice } = chooseFrom([world(header, files, { guide })], { query })
    const sent = choice.packs.flatMap(({ sections }) =>
      sections.map(({ role, path, section }) => `${role} ${path}#${section.id}`),
    )
    return [sent, choice.diagnostics.map(({ code }) => code)]
  }
  assert.deepEqual(roles(entry, 'pressure'), [['overview KNOWLEDGE.md#known-gaps'], ['primary-missing']])
  assert.deepEqual(roles(entry, 'tulips'), [
    ['overview KNOWLEDGE.md#pumps', 'overview KNOWLEDGE.md#known-gaps'],
    ['primary-missing'],
  ])
  assert.deepEqual(roles({ ...entry, 'documents/a.md': '# Heat\n\nSome.' }, 'pressure'), [[], []])
  assert.deepEqual(roles(entry, 'pressure', { profile: 'wiki-first' }), [[], ['primary-missing']])
  const { text } = resolve([world({}, entry, { guide })], { query: 'pressure' })
  assert.match(text, /path="KNOWLEDGE\.md"[^>]*>\nPumps > Known gaps\n\nNo pressure yet\./)
  assert.doesNotMatch(text, /name: pumps/)
})

test('a file that cannot be had is passed over [K-30]', () => {
  const unreadable = new Set(['compiled/splits/pumps/pressure.md'])
  const { choice } = chooseFrom([world(primary, pumps, { unreadable })], { query: 'pressure' })
  assert.deepEqual(chosenIn(choice), ['documents/pumps.md#pressure'])
})

const word = fc.constantFrom('pump', 'valve', 'heat', 'bar', 'water', 'price', 'blue', '漢字')
const body = fc.array(word, { minLength: 1, maxLength: 30 }).map((words) => words.join(' '))
const text = fc
  .array(fc.tuple(word, body), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.map(([title, words]) => `# ${title}\n\n${words}\n`).join('\n'))
const file = fc.tuple(
  fc.constantFrom(
    'documents/a.md',
    'documents/b.md',
    'wiki/a.md',
    'compiled/facts.md',
    'compiled/voice.md',
    'compiled/boundaries.md',
    'sources/a.md',
  ),
  text,
)
const anyWorld = fc.tuple(
  fc.constantFrom('document-first' as const, 'wiki-first' as const, 'hybrid' as const),
  fc.constantFrom('data' as const, 'persona' as const),
  fc.array(file, { minLength: 1, maxLength: 6 }),
)
const worlds = fc
  .array(anyWorld, { minLength: 1, maxLength: 3 })
  .map((all) =>
    all.map(([profile, mode, files], at): World => world({ name: `p${at}`, profile, mode }, Object.fromEntries(files))),
  )

test('equal facts give the same choice, in whatever order files are listed [K-64 K-68]', () => {
  fc.assert(
    fc.property(worlds, body, (given, query) => {
      const turned = given.map(({ facts, files }) => ({
        facts: { ...facts, paths: [...facts.paths].reverse() },
        files,
      }))
      assert.deepEqual(chooseFrom(turned, { query }).choice, chooseFrom(given, { query }).choice)
    }),
  )
})

test('each section is chosen once, and every candidate is either chosen or dropped with a reason [K-56 K-68]', () => {
  fc.assert(
    fc.property(worlds, body, fc.integer({ min: 50, max: 900 }), (given, query, budget) => {
      const { choice } = chooseFrom(given, { query, budget })
      const sections = choice.packs.flatMap((pack) => pack.sections)
      assert.equal(new Set(sections.map(({ section }) => section.digest)).size, sections.length)
      const chosen = new Set(chosenIn(choice).map((place, at) => `${sections[at]?.pack} ${place}`))
      for (const { pack, path, section } of choice.dropped) assert(!chosen.has(`${pack} ${path}#${section}`))
      for (const { role, matched, path } of sections) assert(role !== 'fact' || matched.length > 0, path)
    }),
  )
})
