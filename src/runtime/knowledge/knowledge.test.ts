import assert from 'node:assert/strict'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'vitest'
import { codesOf, writePackIn } from '../../../test/support/knowledge.ts'
import { readFences } from '../../fence/read.ts'
import { contextResolution } from '../../model/knowledge/records.ts'
import { resolutionTrace } from '../../model/knowledge/trace.ts'
import { countTokens } from '../../tokens/count.ts'
import { validatePack } from './check.ts'
import { type KnowledgeOptions, openKnowledge } from './knowledge.ts'
import type { KnowledgeRoot } from './roots.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ambit-knowledge-'))
  writePackIn(root, 'pump-manual', pumpHeader, {
    'documents/pump.md':
      '# Pump\n\n## Heat\n\nThe pump may reach 80 degrees.\n\n## Noise\n\nIt is as loud as a dishwasher.\n',
  })
  writePackIn(
    root,
    'valve-manual',
    { description: 'Valves: how they open, close and seal.' },
    {
      'documents/valve.md': '# Valve\n\n## Sealing\n\nA valve seals with a ring of rubber.\n',
    },
  )
})
afterEach(() => rmSync(root, { recursive: true }))

const pumpHeader = {
  description: 'Operating limits of the P-200 pump: temperature, pressure, noise and service intervals.',
  version: '1.2.0',
}
const question = 'How hot may the P-200 pump get?'
const seed = new Uint8Array(16).fill(7)

const knowledge = (more: Partial<KnowledgeOptions> = {}, rootMore: Partial<KnowledgeRoot> = {}) =>
  openKnowledge({ roots: [{ path: root, scope: 'organisation', ...rootMore }], seed, ...more })

test('a question gets the section that answers it, in the fence of its pack, and nothing else [K-07 K-56 K-58]', async () => {
  const { text, tokens, trace, blocks } = await knowledge().resolve({ query: question })
  const read = readFences(text)
  assert(read.ok)
  assert.deepEqual(
    read.fences.map(({ attributes }) => attributes['name']),
    ['pump-manual'],
  )
  assert.match(text, /The pump may reach 80 degrees/)
  assert.doesNotMatch(text, /rubber/)
  assert.equal(tokens, countTokens(text))
  assert.deepEqual([trace.outcome, trace.activated[0]?.activation], ['answered', 'implicit'])
  assert.deepEqual(
    blocks.map(({ id, bucket, refs }) => [id, bucket, refs]),
    [['knowledge:pump-manual@1.2.0', 'evidence', ['knowledge:pump-manual@1.2.0#documents/pump.md']]],
  )
})

test('a question that no pack is about activates nothing, and that is an answer [K-44 K-67]', async () => {
  const { text, record, trace } = await knowledge().resolve({ query: 'Who won the football match yesterday evening?' })
  assert.deepEqual([text, record, trace.outcome], ['', undefined, 'nothing'])
  assert((trace.short_by ?? 0) > 0)
  assert.deepEqual(trace.missing, ['Who won the football match yesterday evening?'])
})

test('equal facts and an equal seed give equal bytes; another seed another boundary [K-19 K-96]', async () => {
  const [first, again, other] = await Promise.all([
    knowledge().resolve({ query: question }),
    knowledge().resolve({ query: question }),
    knowledge({ seed: undefined }).resolve({ query: question }),
  ])
  assert.equal(first?.text, again?.text)
  assert.notEqual(first?.text, other?.text)
})

test('record and trace are of their shapes, kept apart and never over each other; the question can be withheld [K-86 K-87 K-88 K-92]', async () => {
  const folder = join(root, '..', `${root.split('/').at(-1)}-runs`)
  try {
    const keeping = knowledge({ records: { folder, query: 'digest' } })
    for (let n = 0; n < 3; n++) await keeping.resolve({ query: question })
    await keeping.resolve({ query: 'Who won the football match?' })
    const names = readdirSync(folder).sort()
    assert.deepEqual([names.filter((name) => !name.endsWith('.trace.json')).length, names.length], [3, 7])
    for (const name of names) {
      const text = readFileSync(join(folder, name), 'utf8')
      const schema = name.endsWith('.trace.json') ? resolutionTrace : contextResolution
      assert.doesNotMatch(text, /hot may|football match|"hot"|"matched": \[\s+"/)
      assert.equal(schema.safeParse(JSON.parse(text)).error, undefined)
      assert.match(name, /^context-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-[0-9a-f]{12}/)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('what is untrusted waits for a person, who may approve it for one call, or as it is now [K-48 K-49 K-50]', async () => {
  const scope = { scope: 'workspace' } as const
  const used = async (more: Partial<KnowledgeOptions>, confirm?: string[]) => {
    const { trace } = await knowledge(more, scope).resolve({ query: question, confirm })
    return [trace.activated.map(({ name, trust }) => [name, trust]), codesOf(trace.findings as never)]
  }
  const waits = [[], ['approval-needed', 'approval-needed']]
  const works = [[['pump-manual', 'unreviewed']], []]
  assert.deepEqual(await used({}), waits)
  assert.deepEqual(await used({}, ['pump-manual']), works)
  // What is no text is part of a pack, too.
  mkdirSync(join(root, 'pump-manual/assets'))
  writeFileSync(join(root, 'pump-manual/assets/logo.png'), Buffer.from([0x89, 0xff, 0]))
  const approve = [await approvalOf(join(root, 'pump-manual'))]
  assert.deepEqual(await used({ approve }), works)
  writeFileSync(join(root, 'pump-manual/assets/logo.png'), Buffer.from([0x89, 0xff, 1]))
  assert.deepEqual(await used({ approve }), waits)
  writeFileSync(join(root, 'pump-manual/assets/logo.png'), Buffer.from([0x89, 0xff, 0]))
  assert.deepEqual(await used({ approve }), works)
  appendFileSync(join(root, 'pump-manual/documents/pump.md'), '\nmore\n')
  assert.deepEqual(await used({ approve }), waits)
})

const approvalOf = async (path: string) => ({ path, digest: (await validatePack(path)).digest ?? '' })

test('an approval is of the pack where it lies: another root in front gets none of it [K-46 K-48 K-50]', async () => {
  const other = join(root, 'other')
  writePackIn(other, 'pump-manual', pumpHeader, {
    'documents/pump.md': '# Pump\n\n## Heat\n\nIt may reach 900 degrees.\n',
  })
  const own = join(root, 'own')
  writePackIn(own, 'pump-manual', pumpHeader, {
    'documents/pump.md': '# Pump\n\n## Heat\n\nIt may reach 80 degrees.\n',
  })
  const approve = [await approvalOf(join(own, 'pump-manual'))]
  const texts = async (...roots: readonly KnowledgeRoot[]) =>
    (await openKnowledge({ roots, approve, seed }).resolve({ query: question })).text
  assert.match(await texts({ path: own }), /80 degrees/)
  for (const id of [undefined, 'first']) {
    const front = await texts({ path: other, id }, { path: own })
    assert.match(front, /80 degrees/)
    assert.doesNotMatch(front, /900 degrees/)
  }
  // The same bytes in another place are another pack.
  cpSync(own, join(root, 'copy'), { recursive: true })
  assert.equal(await texts({ path: join(root, 'copy') }), '')
  // A link to a root does not make it another one, nor does a pack that is found through a link.
  symlinkSync(own, join(root, 'link'))
  assert.match(await texts({ path: join(root, 'link') }), /80 degrees/)
  symlinkSync('pump-manual', join(own, 'a-link'))
  assert.match(await texts({ path: own, links: 'within-root' }), /80 degrees/)
})

test('a file that changes is seen by the next question, cached or not [K-88]', async () => {
  const file = join(root, 'pump-manual/documents/pump.md')
  const past = new Date(Date.now() - 60_000)
  utimesSync(file, past, past)
  const packs = knowledge()
  for (let n = 0; n < 2; n++) assert.match((await packs.resolve({ query: question })).text, /80 degrees/)
  writeFileSync(file, '# Pump\n\n## Heat\n\nThe pump may reach 95 degrees.\n')
  assert.match((await packs.resolve({ query: question })).text, /95 degrees/)
  writePackIn(root, 'pump-manual', { ...pumpHeader, status: 'archived' })
  assert.equal((await packs.resolve({ query: question })).text, '')
})

test('grants show packs at their node, below and above it, never beside it, and only narrow [K-91]', async () => {
  const [eu, us] = [join(root, 'eu'), join(root, 'us')]
  for (const folder of [eu, us]) mkdirSync(folder)
  writePackIn(eu, 'eu-rules', { description: 'Rules for pumps in Europe.' })
  writePackIn(us, 'us-rules', { description: 'Rules for pumps in America.' })
  const all = openKnowledge({
    roots: [
      { id: 'eu', scope: 'organisation', path: eu, at: 'acme/eu' },
      { id: 'us', scope: 'organisation', path: us, at: 'acme/us' },
    ],
  })
  const names = async (packs: typeof all) => (await packs.catalog()).map(({ name }) => name)
  assert.deepEqual(await names(all), ['eu-rules', 'us-rules'])
  assert.deepEqual(await names(all.under(['acme/eu'])), ['eu-rules'])
  assert.deepEqual(await names(all.under(['acme/eu/sales'])), ['eu-rules'])
  assert.deepEqual(await names(all.under(['acme'])), ['eu-rules', 'us-rules'])
  assert.deepEqual(await names(all.under(['acme/eu']).under(['acme/us'])), [])
  assert.deepEqual(await names(all.under(['acme/europe'])), [])
  assert.deepEqual(await names(all.under([])), [])
  const named = await all.under(['acme/eu']).resolve({ query: 'pump rules', select: ['us-rules'] })
  assert.deepEqual(
    named.trace.refused.map(({ findings }) => codesOf(findings as never)),
    [['entry-missing']],
  )
  writeFileSync(join(us, 'knowledge.md'), '')
  const told = async (packs: typeof all) => JSON.stringify(await packs.discover())
  assert.match(await told(all), /entry-name/)
  assert.doesNotMatch(await told(all.under(['acme/eu'])), /entry-name|us-rules/)
})

test('a pack is opened once: its guide and a list of its files, not their text [K-54 K-55 K-57]', async () => {
  const packs = knowledge()
  const first = await packs.open('pump-manual')
  assert.match(first.text, /<knowledge_pack_guide[^>]*>\n# Guide/)
  assert.match(first.text, /documents\/pump\.md/)
  assert.doesNotMatch(first.text, /80 degrees/)
  const second = await packs.open('pump-manual')
  assert.deepEqual([first.already, second.already, second.text], [false, true, ''])
  await assert.rejects(packs.open('nothing'), { code: 'pack.not_found' })
  appendFileSync(join(root, 'pump-manual/KNOWLEDGE.md'), `\n${'A long guide says much. '.repeat(3_000)}\n\nThe end.\n`)
  const changed = await packs.open('pump-manual', 300)
  assert.deepEqual([changed.already, changed.tokens <= 300], [false, true])
})

test('one document of 5 MB costs one section [K-56 K-60]', async () => {
  const chapters = Array.from(
    { length: 20_000 },
    (_, n) =>
      `## Chapter ${n}\n\nPart ${n} is about item ${n} of the long list of parts, with its weight, its colour, its price and the many places where it is kept, sold, mended and thrown away in the end, and more of the like to fill it up.\n`,
  )
  chapters[12_345] = '## Heat\n\nThe boiler may reach 140 degrees.\n'
  writePackIn(
    root,
    'boiler',
    { description: 'The boiler: heat, limits, parts.' },
    { 'documents/boiler.md': chapters.join('\n') },
  )
  const { text, tokens } = await knowledge().resolve({
    query: 'How much heat may the boiler reach, in degrees?',
    select: ['boiler'],
    budget: 600,
  })
  assert.match(text, /140 degrees/)
  assert(tokens <= 600)
})

test('a budget that holds not one paragraph is a failure and no gap [K-76]', async () => {
  const { trace, text } = await knowledge().resolve({ query: question, budget: 20 })
  assert.deepEqual([text, trace.outcome], ['', 'failed'])
  assert(codesOf(trace.findings as never).includes('budget-too-small'))
})

test('cold and warm give the same findings, and a file whose time was set back is read again [K-88]', async () => {
  symlinkSync('documents', join(root, 'pump-manual/link'))
  const past = new Date(Date.now() - 60_000)
  const file = join(root, 'pump-manual/documents/pump.md')
  for (const path of [file, join(root, 'pump-manual/KNOWLEDGE.md')]) utimesSync(path, past, past)
  const packs = knowledge({ now: () => Date.now() + 60_000 })
  const first = await packs.resolve({ query: question })
  const second = await packs.resolve({ query: question })
  assert.deepEqual(second.trace.findings, first.trace.findings)
  symlinkSync('documents', join(root, 'pump-manual/other'))
  const links = (await packs.resolve({ query: question })).trace.findings.filter(({ code }) => code === 'link-skipped')
  assert.deepEqual(
    links.map(({ path }) => path),
    ['link', 'other'],
  )
  writeFileSync(file, readFileSync(file, 'utf8').replace('80 degrees', '75 degrees'))
  utimesSync(file, past, past)
  assert.match((await packs.resolve({ query: question })).text, /75 degrees/)
})

test('a named pack that is refused fails the record, and nothing takes its place [K-51]', async () => {
  writePackIn(root, 'old-pump', { status: 'disputed' }, { 'documents/a.md': '# Old pump\n\nhot\n' })
  const { record, trace, text } = await knowledge().resolve({ query: question, select: ['old-pump'] })
  assert.deepEqual([text, record, trace.outcome], ['', undefined, 'refused'])
  const confirmed = await knowledge().resolve({
    query: 'is the old pump hot?',
    select: ['old-pump'],
    confirm: ['old-pump'],
  })
  assert.equal(confirmed.record?.status, 'disputed')
  assert.match(confirmed.text, /status-disputed/)
})

test('nothing is written into packs, and absolute paths appear nowhere [K-01 K-39]', async () => {
  const listing = () => readdirSync(root, { recursive: true }).sort()
  const before = listing()
  const packs = knowledge()
  const seen = [
    await packs.discover(),
    await packs.catalog(),
    await packs.catalogText(),
    await packs.resolve({ query: question }),
  ]
  assert.deepEqual(listing(), before)
  assert(!JSON.stringify(seen).includes(root))
})
