import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { limits } from '../../base/limits.ts'
import { calibration } from './calibration.ts'
import { makeRouter, type Routable } from './route.ts'

const pack = (name: string, description: string, more: Partial<Routable> = {}): Routable => ({
  id: `workspace:${name}`,
  name,
  description,
  select: [],
  reject: [],
  ...more,
})

const pumps = pack('pump-manual', 'Centrifugal pumps: pressure limits, seals, cavitation, maintenance intervals.')
const valves = pack('valve-manual', 'Ball valves and check valves: torque, leakage classes, actuators.')
const tax = pack('vat-guide', 'Value added tax for small companies: rates, invoices, reverse charge, deadlines.')
const brand = pack('northlight-voice', 'How the Northlight brand sounds: tone, taboos, claims it never makes.')
const packs = [pumps, valves, tax, brand]

const best = (query: string, among: readonly Routable[] = packs) => makeRouter(among).rank(query)[0]?.id
const activated = (query: string, among: readonly Routable[] = packs) =>
  makeRouter(among)
    .decide(query)
    .activated.map(({ id }) => id)

test('a question goes to the pack whose catalog entry it matches [K-43 K-44]', () => {
  assert.deepEqual(activated('What cavitation limits do centrifugal pumps have?'), [pumps.id])
  assert.deepEqual(activated('When do I need reverse charge on an invoice?'), [tax.id])
  assert.deepEqual(activated('Which claims are taboo for the Northlight brand?'), [brand.id])
})

test('a question about nothing in the catalog activates nothing, and says by how much [K-44]', () => {
  for (const query of ['Who won the chess game yesterday?', 'How do you handle errors?', '', '?!', '\u0000']) {
    const { activated, shortBy, threshold, calibration: version } = makeRouter(packs).decide(query)
    assert.deepEqual(activated, [], query)
    assert.ok(shortBy > 0 && shortBy <= threshold)
    assert.equal(version, calibration.version)
  }
  assert.equal(makeRouter([]).decide('pumps').shortBy, calibration.threshold)
})

test('words that everybody uses activate no pack, though only one description has them [K-44]', () => {
  const guide = pack('handbook', 'Explains how to implement, configure and optimize systems: best practices, examples.')
  assert.deepEqual(
    activated('Explain the best practices to implement and optimize a chess engine', [...packs, guide]),
    [],
  )
})

test('naming a pack leads to it [K-44]', () => {
  const ranked = makeRouter(packs).rank('please look into the valve manual')
  assert.equal(ranked[0]?.id, valves.id)
  assert.equal(ranked[0]?.named, true)
  assert.deepEqual(ranked[0]?.namedBy, ['valv', 'manual'])
})

test('initials find what they stand for [K-44]', () => {
  assert.equal(best('VAT rates?'), tax.id)
  assert.equal(best('What about BV?'), valves.id)
  assert.equal(best('what about bv?'), undefined)
})

test('two packs are activated when the question names both by words of their own, and only then [K-43 K-44]', () => {
  const rust = pack('rust-basics', 'Rust: ownership, traits, borrowing.')
  const rustAsync = pack('rust-async', 'Rust futures and tasks: executors, wakers.')
  const zig = pack('zig-basics', 'Zig: allocators, comptime.')
  const all = [rust, rustAsync, zig, tax]
  assert.deepEqual(activated('Compare ownership in Rust with allocators in Zig', all).toSorted(), [rust.id, zig.id])
  assert.ok(activated('How does ownership work in Rust?', all).length <= 1)
  assert.ok(activated('How do wakers and executors work in async Rust?', all).length <= 1)
})

test('prompts lead to their pack, and more so the more there are [K-44]', () => {
  const prompts = ['impeller keeps rattling', 'shaft is hot to the touch', 'motor hums but nothing moves']
  const taught = { ...pumps, select: prompts }
  assert.equal(best('the impeller is rattling'), undefined)
  assert.equal(best('the impeller is rattling', [taught, valves, tax]), pumps.id)
  const score = (select: readonly string[]) =>
    makeRouter([{ ...pumps, select }, valves, tax]).rank('the impeller is rattling')[0]?.score ?? 0
  const more = Array.from({ length: 30 }, (_, at) => `fuse number ${at} blows`)
  assert.ok(score([...prompts, ...more]) > score(prompts))
})

test('a prompt that should not select a pack counts against it, and against no other [K-44]', () => {
  const query = 'pumps at a petrol station: where is the cheapest pressure wash?'
  const wary = { ...pumps, reject: [query] }
  assert.equal(best(query), pumps.id)
  assert.notEqual(best(query, [wary, valves, tax]), pumps.id)
  assert.equal(best('pressure limits of centrifugal pumps', [wary, valves, tax]), pumps.id)
  assert.equal(best('leakage classes of valves', [wary, valves, tax]), valves.id)
})

test('prompts past the limit count for nothing [K-44]', () => {
  const filler = Array.from({ length: limits.knowledgePromptsPerPackMax }, (_, at) => `filler ${at}`)
  const late = { ...pumps, select: [...filler, 'impeller keeps rattling'] }
  assert.equal(best('impeller rattling', [late, valves]), undefined)
})

test('a description stuffed with words does not draw the questions of others [K-44]', () => {
  const words = packs.flatMap(({ description }) => description.split(' '))
  const greedy = pack('everything', `Knows all. ${words.join(' ')} ${words.join(' ')}`)
  const spam = pack('pressure', `${'pressure seals valves tax tone '.repeat(400)}`)
  const among = [...packs, greedy, spam]
  assert.equal(best('What cavitation limits do centrifugal pumps have?', among), pumps.id)
  assert.equal(best('torque and leakage classes of ball valves', among), valves.id)
  assert.equal(best('reverse charge and invoices', among), tax.id)
})

test('what stands behind the longest description allowed counts for nothing [K-44]', () => {
  const long = pack('notes', `${'x '.repeat(limits.knowledgeDescriptionCharsMax / 2)}impeller`)
  assert.equal(best('impeller', [long, valves]), undefined)
})

test('a pack that copies the description of another does not draw its questions [K-44]', () => {
  const copy = pack('aaa', pumps.description)
  assert.equal(best('cavitation of centrifugal pumps', [copy, ...packs]), pumps.id)
  assert.equal(best('what does aaa say?', [copy, ...packs]), copy.id)
})

test('a pack in another language is found by words of that language [K-44]', () => {
  const german = pack('pumpen', 'Kreiselpumpen: Dichtungen, Wartung, Förderhöhe.', { language: 'de' })
  const japanese = pack('ponpu', '遠心ポンプの保守と圧力の限界', { language: 'ja' })
  assert.equal(best('Welche Dichtungen haben Kreiselpumpen?', [german, japanese, pumps]), german.id)
  assert.deepEqual(activated('遠心ポンプの圧力は？', [german, japanese, pumps]), [japanese.id])
})

const word = fc.constantFrom('pump', 'valve', 'seal', 'tax', 'rate', 'tone', 'explain', 'useState', 'EF', '圧力', '')
const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(' '))
const routable: fc.Arbitrary<Routable> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  name: fc.constantFrom('pump', 'valve-guide', 'tax', 'tone-of-voice', 'ef'),
  description: text,
  language: fc.constantFrom(undefined, 'en', 'de'),
  select: fc.array(text, { maxLength: 3 }),
  reject: fc.array(text, { maxLength: 3 }),
})
const catalog = fc.uniqueArray(routable, { selector: ({ id }) => id, maxLength: 5 })

test('neither the order of packs nor an earlier question changes an answer [K-44]', () => {
  fc.assert(
    fc.property(catalog, text, text, (among, query, other) => {
      const router = makeRouter(among.toReversed())
      router.decide(other)
      assert.deepEqual(router.decide(query), makeRouter(among).decide(query))
    }),
  )
})

test('confidence, share and agreement stay between 0 and 1, the best stands first, and only it can reach the threshold alone [K-44]', () => {
  fc.assert(
    fc.property(catalog, text, (among, query) => {
      const { activated, considered, threshold, shortBy } = makeRouter(among).decide(query)
      for (const { confidence, share, agreement, score } of considered) {
        for (const value of [confidence, share, agreement]) assert.ok(value >= 0 && value <= 1 + 1e-9)
        assert.ok(score > 0 && score <= (considered[0]?.score ?? 0))
      }
      assert.equal(activated.length > 0, (considered[0]?.confidence ?? 0) >= threshold)
      assert.equal(shortBy === 0, activated.length > 0)
      assert.deepEqual(activated.slice(0, 1), activated.length > 0 ? considered.slice(0, 1) : [])
    }),
  )
})

test('a pack that shares no word with the question changes no order among the others [K-44]', () => {
  fc.assert(
    fc.property(catalog, text, (among, query) => {
      const stranger = pack('zzz', 'qqq www')
      const ids = (packs: readonly Routable[]) =>
        makeRouter(packs)
          .rank(query)
          .map(({ id }) => id)
      assert.deepEqual(new Set(ids([...among, stranger])), new Set(ids(among)))
    }),
  )
})

test('hostile text costs no more than its length and answers something [K-44]', () => {
  const hostile = fc
    .constantFrom('A', 'a.', 'aA', '(', '`', '圧', 'A ', '_a', '\ud800', 'ﷺ')
    .map((unit) => unit.repeat(20_000))
  fc.assert(
    fc.property(hostile, hostile, (query, description) => {
      const router = makeRouter([pack('p', description, { select: [description], reject: [query] }), pumps])
      assert.ok(router.rank(query).length <= 2)
    }),
    { numRuns: 20 },
  )
})

test('the numbers routing decides by are those of the version they carry [K-44]', () => {
  assert.deepEqual(calibration, pinned)
})

test('what this version decides is pinned: another answer takes another version [K-44]', () => {
  const router = makeRouter(packs)
  const told = (query: string) => router.rank(query).map(({ id, confidence }) => [id, confidence.toFixed(3)])
  assert.deepEqual(told('What cavitation limits do centrifugal pumps have?'), [['workspace:pump-manual', '0.972']])
  assert.deepEqual(told('Which manual explains leakage?'), [
    ['workspace:valve-manual', '0.615'],
    ['workspace:pump-manual', '0.072'],
  ])
})

const pinned = {
  version: '1',
  weights: {
    stress: 2,
    k1: 2,
    name: 5,
    initials: 1,
    prompts: 0.3,
    catalogMin: 50,
    together: 0.5,
    neighbours: 10,
    neighboursHalf: 20,
    neighboursCount: 10,
    marginScale: 2,
    alsoShare: 0.6,
  },
  confidence: { base: -2.75, words: 1.04, share: 0.79, margin: 4.19, named: 0.53, agreement: 0, everyday: 0.5 },
  threshold: 0.53,
}
