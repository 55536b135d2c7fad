import assert from 'node:assert/strict'
import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { appendBucket, readBucket } from '../../storage/entries/buckets.ts'
import {
  addEntry,
  amendEntry,
  entriesWithin,
  findEntry,
  findEqualEntry,
  forgetEntry,
  listEntries,
  type NewEntry,
  removeEntries,
  stepsOf,
  supersedeEntry,
} from '../../storage/entries/entries.ts'
import { type Area, type EntrySearch, findEntries, topicsIn } from '../../storage/entries/entry-index.ts'
import { wordsOf } from '../../storage/entries/words.ts'
import type { Store } from '../../storage/store.ts'
import type { Change } from '../../storage/work.ts'
import { countingIds } from '../ports.ts'
import { at, sampleIds as ids, sampleEntry, sampleStep } from './entry-samples.ts'
import { allPages, codes, type Given, type Register, type Setting, times } from './given.ts'

export function entryRules(test: Register, on: Setting): void {
  test('entries of another tenant, collection or scope are never found, however alike [F-12 G-48]', on(apart))
  test('scopes are compared by whole segments and by case, and nothing in them is a pattern [F-12 G-77]', on(segments))
  test('entries come newest first, page by page, whether by scope, topic or words [F-12]', on(paged))
  test('of equal entries that are written at the same time one stays [F-12 G-76]', on(equal))
  test('a correction keeps the old entry, and whoever comes second is told [F-12 G-76]', on(superseded))
  test('what is forgotten is found no more, and stays on record [F-12 G-76]', on(forgotten))
  test('topics are united, and their counts follow every change [F-12 G-76]', on(topics))
  test('all words must occur, in any script, whatever they hold [F-12 G-76]', on(words))
  test('a word cannot pose as the mark of a scope [F-12 G-48]', on(forged))
  test('what has expired is not found, and goes when more is added [F-12]', on(expired))
  test('erasing a scope leaves nothing of it, and all of its siblings and ancestors [F-12 G-77]', on(erased))
  test('entries are there for the next who opens the store [F-12 G-76]', on(reopened))
  test('a bucket gives its newest texts, oldest first, and is no scope of anybody [F-12]', on(buckets))
}

const named = (entry: NewEntry | undefined) => ({ collection: 'memory', entry_id: entry?.entry_id ?? '' })

const add = (entry: NewEntry): Change<void> => addEntry(entry, sampleStep())

const exactly = (...scopes: readonly string[]): Area[] => scopes.map((scope) => ({ scope, below: false }))
const below = (...scopes: readonly string[]): Area[] => scopes.map((scope) => ({ scope, below: true }))

async function find(store: Store, tenant: TenantId, search: Partial<EntrySearch>, limit = 2): Promise<string[]> {
  const full = { areas: exactly('a'), nowMs: 0, ...search }
  const found = await allPages(store, (options) => findEntries(tenant, 'memory', full, options), { limit })
  return found.map(({ content }) => content)
}

const countsOf = async (store: Store, tenant: TenantId, areas: readonly Area[]): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await store.read(() => topicsIn(tenant, 'memory', areas))).map(({ topic, count }) => [topic, count]),
  )

async function apart({ store, tenant, other }: Given): Promise<void> {
  const one = sampleEntry('the same words')
  await store.write(tenant, add(one))
  await store.write(other, add({ ...one, topics: ['others'] }))
  await store.write(tenant, add({ ...one, collection: 'notes' }))
  await store.write(tenant, add({ ...one, entry_id: ids.next('mem'), scope: 'A' }))
  for (const owner of [tenant, other]) {
    assert.deepEqual(await find(store, owner, {}), ['the same words'])
    assert.deepEqual(await find(store, owner, { words: ['same'] }), ['the same words'])
    assert.deepEqual(await find(store, owner, { words: ['same'], areas: below('a') }), ['the same words'])
  }
  assert.deepEqual(await find(store, tenant, { topics: ['others'] }), [])
  assert.deepEqual(await find(store, tenant, { topics: ['others'], words: ['same'] }), [])
  assert.deepEqual(await countsOf(store, tenant, below('a')), { general: 1 })
  await store.write(tenant, forgetEntry(one, sampleStep('forgotten')))
  assert.deepEqual(await find(store, other, { words: ['same'] }), ['the same words'])
  assert.deepEqual(await countsOf(store, other, exactly('a')), { others: 1 })
  assert.equal((await store.read(() => findEntry(tenant, { ...one, collection: 'notes' })))?.state, 'active')
}

// Beside each other where a text is compared by its beginning, by a language, or as a pattern.
const scopes = ['a', 'a/b', 'a/b/c', 'a/bc', 'a-b', 'a_b', 'axb', 'a/B', 'A/b', 'ab', 'a.b', 'a/b-c', 'a/é', 'a/𝒳']
const isWithin = (scope: string, branch: string): boolean => scope === branch || scope.startsWith(`${branch}/`)

async function segments({ store, tenant }: Given): Promise<void> {
  for (const scope of scopes) await store.write(tenant, add(sampleEntry('text', { scope, body: { scope } })))
  for (const scope of [...scopes, 'a%', 'a_', '_', '%', 'a/', 'a0']) {
    const inside = scopes.filter((each) => isWithin(each, scope)).toSorted()
    const same = scopes.filter((each) => each === scope)
    for (const search of [{}, { words: ['text'] }, { topics: ['general'] }, { words: ['text'], topics: ['general'] }]) {
      const found = async (areas: Area[]) => {
        const full = { nowMs: 0, ...search, areas }
        return (await store.read(() => findEntries(tenant, 'memory', full))).items.map((each) => each.scope).toSorted()
      }
      assert.deepEqual(await found(exactly(scope)), same, scope)
      assert.deepEqual(await found(below(scope)), inside, scope)
    }
    const within = await store.read(() => entriesWithin(tenant, { scope, recursive: true }))
    assert.deepEqual(within.map((each) => each.scope).toSorted(), inside, scope)
    assert.deepEqual(
      (await store.read(() => entriesWithin(tenant, { scope, recursive: false }))).map((each) => each.scope),
      same,
    )
    const listed = await store.read(() => listEntries(tenant, { collection: 'memory', scope }))
    assert.deepEqual(
      listed.items.map((each) => each.scope),
      same,
    )
  }
}

async function paged({ store, tenant }: Given): Promise<void> {
  const made = times(9, (index) =>
    sampleEntry(`number ${index}`, {
      scope: index % 3 === 0 ? 'a/b' : 'a',
      topics: index % 2 === 0 ? ['even', 'general'] : ['general'],
    }),
  )
  for (const entry of made) await store.write(tenant, add(entry))
  const expected = (is: (index: number) => boolean) =>
    made
      .map(({ content }) => content)
      .filter((_, index) => is(index))
      .reverse()
  const all = { areas: exactly('a', 'a/b') }
  assert.deepEqual(
    await find(store, tenant, all),
    expected(() => true),
  )
  assert.deepEqual(
    await find(store, tenant, { areas: below('a', 'a/b') }),
    expected(() => true),
  )
  assert.deepEqual(
    await find(store, tenant, { ...all, topics: ['even', 'general'] }),
    expected(() => true),
  )
  assert.deepEqual(
    await find(store, tenant, { ...all, topics: ['even'] }),
    expected((index) => index % 2 === 0),
  )
  assert.deepEqual(
    await find(store, tenant, { ...all, words: ['number'] }),
    expected(() => true),
  )
  assert.deepEqual(
    await find(store, tenant, { words: ['number'] }),
    expected((index) => index % 3 !== 0),
  )
  const evenWords = { ...all, words: ['number'], topics: ['even', 'none'] }
  assert.deepEqual(
    await find(store, tenant, evenWords),
    expected((index) => index % 2 === 0),
  )
  assert.deepEqual(await find(store, tenant, { areas: [] }), [])
  assert.deepEqual(await find(store, tenant, { areas: [], words: ['number'] }), [])
  await assert.rejects(
    store.read(() => findEntries(tenant, 'memory', { areas: exactly('a'), nowMs: 0 }, { cursor: 'x' })),
    { code: 'cursor.invalid' },
  )
}

async function equal({ store, second, tenant }: Given): Promise<void> {
  const made = times(12, () => sampleEntry('said by all'))
  const answers = await codes(made.map((entry, index) => (index % 2 === 0 ? store : second).write(tenant, add(entry))))
  assert.deepEqual(answers.toSorted(), ['kept', ...times(11, () => 'memory.conflict')])
  assert.deepEqual(await find(store, tenant, { words: ['said'] }), ['said by all'])
  assert.deepEqual(await countsOf(store, tenant, below('a')), { general: 1 })
  const winner = made[answers.indexOf('kept')]
  const place = { collection: 'memory', scope: 'a', content_hash: sha256('said by all') }
  assert.equal((await store.read(() => findEqualEntry(tenant, place)))?.entry_id, winner?.entry_id)
  assert.equal(await store.read(() => findEqualEntry(tenant, { ...place, scope: 'a/b' })), undefined)
  // The same id with other content is no new entry either.
  await assert.rejects(store.write(tenant, add({ ...sampleEntry('other'), entry_id: winner?.entry_id ?? '' })), {
    code: 'memory.conflict',
  })
  const log = times(3, () => sampleEntry('said again', { content_hash: null }))
  for (const entry of log) await store.write(tenant, add(entry))
  assert.equal((await find(store, tenant, {})).length, 4)
  assert.deepEqual(await find(store, tenant, { words: ['again'] }), [])
}

async function superseded({ store, second, tenant }: Given): Promise<void> {
  const old = sampleEntry('open at nine', { topics: ['hours', 'shop'] })
  await store.write(tenant, add(old))
  const next = times(6, (index) => sampleEntry(`open at ${index}`, { topics: [], body: {} }))
  const answers = await codes(
    next.map((entry, index) =>
      (index % 2 === 0 ? store : second).write(tenant, supersedeEntry(old, entry, sampleStep('superseded'))),
    ),
  )
  assert.deepEqual(answers.toSorted(), ['kept', ...times(5, () => 'memory.conflict')])
  const winner = next[answers.indexOf('kept')]
  assert.deepEqual(await find(store, tenant, { topics: ['shop'] }), [winner?.content])
  assert.deepEqual(await find(store, tenant, { words: ['nine'] }), [])
  assert.deepEqual(await countsOf(store, tenant, below('a')), { hours: 1, shop: 1 })
  const kept = await store.read(() => findEntry(tenant, old))
  assert.deepEqual([kept?.state, kept?.replaced_by, kept?.content], ['superseded', winner?.entry_id, 'open at nine'])
  assert.deepEqual((await store.read(() => findEntry(tenant, named(winner))))?.body, { type: 'fact' })
  assert.deepEqual(
    (await store.read(() => stepsOf(tenant, old))).map(({ action }) => action),
    ['stored', 'superseded'],
  )
  const listed = await store.read(() => listEntries(tenant, { collection: 'memory', scope: 'a' }))
  assert.deepEqual(
    listed.items.map(({ state }) => state),
    ['active', 'superseded'],
  )
  // Its content may be said again, and an entry may be corrected to what it says already.
  await store.write(tenant, add(sampleEntry('open at nine')))
  const again = sampleEntry(winner?.content ?? '')
  await store.write(
    tenant,
    supersedeEntry({ ...again, entry_id: winner?.entry_id ?? '' }, again, sampleStep('superseded')),
  )
  const taken = supersedeEntry(again, sampleEntry('open at nine'), sampleStep('superseded'))
  await assert.rejects(store.write(tenant, taken), { code: 'memory.conflict' })
  assert.equal((await store.read(() => findEntry(tenant, again)))?.state, 'active')
}

async function forgotten({ store, tenant }: Given): Promise<void> {
  const entry = sampleEntry('a secret wish')
  await store.write(tenant, add(entry))
  const step = { ...sampleStep('forgotten'), reason: 'asked for' }
  await assert.rejects(store.write(tenant, forgetEntry({ ...entry, scope: 'a/b' }, step)), { code: 'memory.conflict' })
  await store.write(tenant, forgetEntry(entry, step))
  for (const change of [forgetEntry(entry, step), amendEntry(entry, ['x'], step)])
    await assert.rejects(store.write(tenant, change), { code: 'memory.conflict' })
  for (const search of [{}, { words: ['secret'] }, { topics: ['general'] }, { areas: below('a') }])
    assert.deepEqual(await find(store, tenant, search), [])
  assert.deepEqual(await store.read(() => topicsIn(tenant, 'memory', below('a'))), [])
  const kept = await store.read(() => findEntry(tenant, entry))
  assert.deepEqual([kept?.state, kept?.replaced_by], ['forgotten', null])
  assert.deepEqual(await store.read(() => stepsOf(tenant, entry)), [sampleStep(), step])
}

async function topics({ store, second, tenant }: Given): Promise<void> {
  const [one, two] = [
    sampleEntry('first', { topics: ['x'] }),
    sampleEntry('second', { scope: 'a/b', topics: ['x', 'y'] }),
  ]
  await store.write(tenant, add(one))
  await store.write(tenant, add({ ...two, created_at: formatTime(5) }))
  await Promise.all(
    times(10, (index) =>
      (index % 2 === 0 ? store : second).write(tenant, amendEntry(one, ['x', `t${index}`], sampleStep('deduplicated'))),
    ),
  )
  const counts = await store.read(() => topicsIn(tenant, 'memory', below('a')))
  assert.deepEqual(counts[0], { topic: 'x', count: 2, updatedAt: formatTime(5) })
  assert.deepEqual(
    counts.slice(1).map(({ topic, count }) => `${topic} ${count}`),
    [...times(10, (index) => `t${index} 1`), 'y 1'],
  )
  assert.deepEqual(await countsOf(store, tenant, exactly('a/b')), { x: 1, y: 1 })
  assert.deepEqual(
    await countsOf(store, tenant, [...exactly('a'), ...below('a/b')]),
    await countsOf(store, tenant, below('a')),
  )
  assert.deepEqual(await find(store, tenant, { topics: ['t7'], words: ['first'] }), ['first'])
  assert.equal((await store.read(() => stepsOf(tenant, one))).length, 11)
  await store.write(
    tenant,
    amendEntry(
      one,
      times(99, (index) => `more ${index}`),
      sampleStep('deduplicated'),
    ),
  )
  assert.equal((await store.read(() => findEntry(tenant, one)))?.topics.length, 64)
}

const texts = [
  'The Quick brown-fox, 42 times!',
  'ÜBER straße naïve ﬁne Ⅷ',
  '東京タワー 서울에서',
  'क्षेत्र हिन्दी',
  `"quoted" AND (x OR y) NOT NEAR * ^ : 'a' & | ! <->`,
  `${'long'.repeat(500)} ${'𝒳'.repeat(100)}`,
  'snake_case a.b@c.d %like% back\\slash',
]

async function words({ store, second, tenant }: Given): Promise<void> {
  for (const text of texts) await second.write(tenant, add(sampleEntry(text)))
  for (const text of texts) {
    const all = wordsOf(text)
    assert.deepEqual(await find(store, tenant, { words: all.slice(0, 32) }), [text])
    for (const word of all)
      assert((await find(store, tenant, { words: [word] }, 9)).includes(text), `${word} of ${text}`)
    assert.deepEqual(await find(store, tenant, { words: [...all.slice(0, 9), 'absent'] }), [])
  }
  for (const query of ['quick FOX', 'Über STRASSE'.replace('SS', 'ß'), 'fine viii', '京', 'naïve', 'x "OR" y'])
    assert.equal((await find(store, tenant, { words: wordsOf(query) })).length, 1, query)
  for (const query of ['quic', 'nave', 'naive', 'ber', 'like back slas'])
    assert.deepEqual(await find(store, tenant, { words: wordsOf(query) }), [], query)
}

async function forged({ store, tenant, other }: Given): Promise<void> {
  const mark = `§${sha256(JSON.stringify([tenant, 'memory', '=a'])).slice(0, 32)}`
  await store.write(tenant, add(sampleEntry(`forged ${mark} here`, { scope: 'b' })))
  await store.write(other, add(sampleEntry(`forged ${mark} here`)))
  assert.deepEqual(await find(store, tenant, { words: ['forged'] }), [])
  assert.deepEqual(await find(store, tenant, { words: ['forged'], areas: below('a') }), [])
}

async function expired({ store, tenant }: Given): Promise<void> {
  const log = (content: string, expires_at_ms: number, ms: number) =>
    addEntry(sampleEntry(content, { content_hash: null, expires_at_ms }), { ...sampleStep(), at: formatTime(ms) })
  for (let index = 0; index < 5; index++) await store.write(tenant, log(`old ${index}`, 10 + index, 0))
  assert.deepEqual(await find(store, tenant, { nowMs: 12 }), ['old 4', 'old 3'])
  assert.deepEqual(await countsOf(store, tenant, exactly('a')), { general: 5 })
  await store.write(tenant, log('new', 99, 12))
  assert.deepEqual(await countsOf(store, tenant, exactly('a')), { general: 3 })
  assert.deepEqual(await find(store, tenant, { nowMs: 0 }), ['new', 'old 4', 'old 3'])
}

async function erased({ store, tenant, other }: Given): Promise<void> {
  for (const owner of [tenant, other])
    for (const scope of scopes) {
      const [one, two, three] = times(3, (index) =>
        sampleEntry(`${scope} ${index}`, { scope, topics: [`of ${scope}`] }),
      )
      if (one === undefined || two === undefined || three === undefined) throw new Error('three were made')
      await store.write(owner, add(one))
      await store.write(owner, supersedeEntry(one, two, sampleStep('superseded')))
      await store.write(owner, add({ ...three, collection: 'notes', content_hash: null }))
      await store.write(
        owner,
        appendBucket(scope.replaceAll('/', '.'), { content: 'x', created_at: at, agent_id: '', run_id: '' }, ids),
      )
    }
  const before = await store.read(() => entriesWithin(other, { scope: 'a', recursive: true }))
  for (const [scope, recursive] of [
    ['a/b', false],
    ['a/b', true],
    ['a', true],
  ] as const) {
    const gone = (each: string) => (recursive ? isWithin(each, scope) : each === scope)
    const removed = await store.write(tenant, function* (owner) {
      const found = yield* entriesWithin(owner, { scope, recursive, locked: true })
      yield* removeEntries(owner, found)
      return found
    })
    assert(removed.length > 0 && removed.every((each) => gone(each.scope)), scope)
    assert.deepEqual(await store.read(() => entriesWithin(tenant, { scope, recursive })), [])
    for (const each of removed) assert.deepEqual(await store.read(() => stepsOf(tenant, each)), [])
    const left = scopes.filter(
      (each) => !gone(each) && isWithin(each, 'a') && !(scope === 'a/b' && recursive && each === 'a/b'),
    )
    const found = await store.read(() => findEntries(tenant, 'memory', { areas: below('a'), nowMs: 0 }))
    const expected = scope === 'a' ? [] : left.filter((each) => each !== 'a/b')
    assert.deepEqual(found.items.map((each) => each.scope).toSorted(), expected.toSorted())
    assert.deepEqual(
      Object.keys(await countsOf(store, tenant, below('a'))).toSorted(),
      expected.map((each) => `of ${each}`).toSorted(),
    )
  }
  assert.deepEqual(await store.read(() => entriesWithin(other, { scope: 'a', recursive: true })), before)
  assert.equal((await store.read(() => readBucket(tenant, 'a'))).length, 1)
}

async function reopened({ store, tenant, reopen }: Given): Promise<void> {
  const entry = sampleEntry('kept words', { topics: ['x'] })
  await store.write(tenant, add(entry))
  if (reopen === undefined) return
  await store.close()
  const again = await reopen()
  assert.deepEqual(await find(again, tenant, { words: ['kept'], topics: ['x'] }), ['kept words'])
  await again.write(tenant, forgetEntry(entry, sampleStep('forgotten')))
  assert.deepEqual(await find(again, tenant, { words: ['kept'] }), [])
}

async function buckets({ store, tenant, other }: Given): Promise<void> {
  const append = (content: string, contextId = 'desk:1') =>
    appendBucket(contextId, { content, created_at: at, agent_id: 'desk', run_id: 'run_1' }, ids)
  for (let index = 0; index < 23; index++) await store.write(tenant, append(`text ${index % 22}`))
  await store.write(other, append('of others'))
  // An id that was made elsewhere too is made again.
  const again = countingIds()
  await store.write(tenant, appendBucket('again', { content: '', created_at: at, agent_id: '', run_id: '' }, again))
  await store.write(
    tenant,
    appendBucket('again', { content: '', created_at: at, agent_id: '', run_id: '' }, countingIds()),
  )
  const contents = async (contextId: string) =>
    (await store.read(() => readBucket(tenant, contextId))).map((each) => each.content)
  assert.deepEqual(await contents('desk:1'), [...times(19, (index) => `text ${index + 3}`), 'text 0'])
  assert.deepEqual([await contents('again'), await contents('desk'), await contents('Desk:1')], [['', ''], [], []])
  assert.deepEqual(await find(store, tenant, { areas: below('desk:1') }), [])
  assert.deepEqual(await store.read(() => entriesWithin(tenant, { scope: 'desk:1', recursive: true })), [])
  await store.write(tenant, append(`x${'é'.repeat(40_000)}`, 'long'))
  assert.equal((await contents('long'))[0], `x${'é'.repeat(32_767)}`)
}
