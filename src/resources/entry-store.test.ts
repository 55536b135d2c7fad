import assert from 'node:assert/strict'
import fc from 'fast-check'
import { onTestFinished, test } from 'vitest'
import { anyPath, isAtOrBelow, world } from '../../test/support/grants.ts'
import { sweep } from '../../test/support/sweep.ts'
import { Failure } from '../base/failure.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { addEntry } from '../storage/entries/entries.ts'
import { inOrder } from '../storage/work.ts'
import { countingIds, fakeClock } from '../testing/index.ts'
import { sampleRun, storeInMemory } from '../testing/provider/given.ts'
import { sampleEntry, sampleStep } from '../testing/storage/entry-samples.ts'
import { makeTenant } from '../testing/storage/sample.ts'
import { type Entry, type EntryStore, type EntryStoreFacts, openEntryStore } from './entry-store.ts'
import type { Reach } from './provider.ts'

interface Opened {
  readonly tenant: TenantId
  readonly open: (given?: Partial<EntryStoreFacts>) => ReturnType<typeof openEntryStore>
  /** Lets a call act on a handle, and keeps what it staged. */
  readonly act: <T>(given: Partial<EntryStoreFacts>, work: (store: EntryStore) => Promise<T> | T) => Promise<T>
}

async function opened(): Promise<Opened> {
  const { store } = await storeInMemory()
  onTestFinished(() => store.close())
  const tenant = await makeTenant(store, 'acme')
  const [clock, ids] = [fakeClock(0), countingIds()]
  const open: Opened['open'] = (given = {}) =>
    openEntryStore({
      ...{ store, tenant, collection: 'memory', grants: ['a/b'], roots: ['a'], clock, ids, source: sampleRun(tenant) },
      ...{ reads: ['up', 'at', 'down'], writes: ['at', 'down'] },
      ...given,
    })
  const act: Opened['act'] = async (given, work) => {
    const { handle, changes, end } = open(given)
    const answer = await work(handle)
    end()
    await store.write(tenant, inOrder(...changes()))
    return answer
  }
  return { tenant, open, act }
}

const denied = { code: 'resource.scope_denied' }
const conflict = { code: 'memory.conflict' }

const reaches: fc.Arbitrary<readonly Reach[]> = fc.subarray<Reach>(['up', 'at', 'down'], { minLength: 1 })

/** Which scopes of a small world a run may be shown: by segments, one after the other. */
const visible =
  (grants: readonly string[], reads: readonly Reach[], roots: readonly string[] | 'unbounded') => (scope: string) =>
    grants.some((grant) => {
      if (scope === grant) return reads.includes('at')
      if (isAtOrBelow(scope, grant)) return reads.includes('down')
      const isInside =
        roots === 'unbounded' || roots.some((root) => isAtOrBelow(scope, root) && isAtOrBelow(grant, root))
      return isAtOrBelow(grant, scope) && isInside && reads.includes('up')
    })

test('whatever is granted, nothing is read or counted but what the reference allows, and by default all of it [G-48]', async () => {
  const { store } = await storeInMemory()
  onTestFinished(() => store.close())
  const tenant = await makeTenant(store, 'acme')
  for (const scope of world)
    await store.write(
      tenant,
      addEntry(sampleEntry(`text in ${scope}`, { scope, topics: [`of ${scope}`, 'all'] }), sampleStep()),
    )
  const anyRoots = fc.oneof(fc.constant('unbounded' as const), fc.array(anyPath, { maxLength: 2 }))
  const facts = {
    store,
    tenant,
    collection: 'memory',
    writes: [],
    clock: fakeClock(0),
    ids: countingIds(),
    source: sampleRun(tenant),
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyPath, { maxLength: 3 }),
      reaches,
      anyRoots,
      fc.boolean(),
      async (grants, reads, roots, isBelow) => {
        const may = visible(grants, reads, roots)
        const { handle } = openEntryStore({ ...facts, grants, reads, roots })
        const expected = world.filter(may).toSorted()
        for (const query of [{}, { words: 'text in' }, { topics: ['all'] }, { words: 'text', topics: ['all'] }]) {
          const { entries } = await handle.find({ ...query, limit: 1_000 })
          const found = entries.map(({ scope }) => scope).toSorted()
          // Without `at` only what is named is looked below.
          if (reads.includes('at')) assert.deepEqual(found, expected)
          else assert(found.every(may))
        }
        const counted = (await handle.topics()).filter(({ topic }) => topic !== 'all')
        if (reads.includes('at'))
          assert.deepEqual(
            counted.map(({ topic }) => topic).toSorted(),
            expected.map((each) => `of ${each}`),
          )
        assert(counted.every(({ topic, count }) => may(topic.slice(3)) && count === 1))
        for (const scope of world) {
          const where = { scopes: [scope], below: isBelow }
          const asked = await handle.find({ ...where, limit: 1_000 }).catch((error: unknown) => error)
          if (asked instanceof Failure) assert(asked.code === 'resource.scope_denied' && !may(scope), scope)
          else assert((asked as { entries: Entry[] }).entries.every((entry) => may(entry.scope)) && may(scope), scope)
        }
      },
    ),
    { numRuns: sweep(60, 600) },
  )
})

test('whatever is granted, nothing is written but at or below a grant, as far as writes reach [G-48]', async () => {
  const { open } = await opened()
  await fc.assert(
    fc.asyncProperty(fc.array(anyPath, { maxLength: 3 }), reaches, async (grants, directions) => {
      const writes = directions.filter((each) => each !== 'up')
      for (const scope of world) {
        const { handle, changes } = open({ grants, writes, roots: 'unbounded' })
        const may = visible(grants, writes, [])(scope)
        const stray: Entry = {
          ...{ id: 'mem_1', scope, content: 'x', topics: [], body: {} },
          createdAt: '',
          updatedAt: '',
          source: { agentId: '', runId: '' },
        }
        const attempts = [
          () => handle.add({ scope, content: 'x' }),
          () => handle.supersede(stray, { content: 'x' }),
          () => handle.amend(stray, { topics: ['x'] }),
          () => handle.forget(stray),
        ]
        for (const attempt of attempts) may ? attempt() : assert.throws(attempt, denied)
        assert.equal(changes().length, may ? attempts.length : 0)
      }
    }),
    { numRuns: sweep(20, 200) },
  )
})

test('an entry that is seen by reaching up alone, or by its id alone, cannot be changed [G-48]', async () => {
  const { act } = await opened()
  const id = await act({ grants: ['a'] }, (store) => store.add({ scope: 'a', content: 'of all' }))
  await act({}, async (store) => {
    const entry = await store.get(id)
    assert(entry !== undefined)
    assert.throws(() => store.supersede(entry, { content: 'mine' }), denied)
    assert.throws(() => store.amend(entry, { topics: ['mine'] }), denied)
    assert.throws(() => store.forget(entry), denied)
  })
  assert.equal(await act({ roots: ['a/b'] }, (store) => store.get(id)), undefined)
  assert.equal(await act({ grants: ['a/c'], reads: ['at'] }, (store) => store.get(id)), undefined)
  assert.equal(await act({ grants: ['a'], collection: 'notes' }, (store) => store.get(id)), undefined)
})

test('an entry that says of itself that it lies elsewhere is a conflict at the commit [G-48]', async () => {
  const { act } = await opened()
  const id = await act({ grants: ['a'] }, (store) => store.add({ scope: 'a', content: 'of all' }))
  for (const change of [
    (store: EntryStore, entry: Entry) => store.forget(entry),
    (store: EntryStore, entry: Entry) => store.amend(entry, { topics: ['mine'] }),
    (store: EntryStore, entry: Entry) => store.supersede(entry, { content: 'mine' }),
  ])
    await assert.rejects(
      act({}, async (store) => change(store, { ...((await store.get(id)) as Entry), scope: 'a/b' })),
      conflict,
    )
  assert.equal((await act({}, (store) => store.get(id)))?.content, 'of all')
})

test('what a call relied on is looked at again when it is kept [G-76]', async () => {
  const { act } = await opened()
  const id = await act({}, (store) => store.add({ scope: 'a/b', content: 'said once', topics: ['x'] }))
  const meanwhile = (
    work: (store: EntryStore, entry: Entry) => unknown,
    other: (store: EntryStore, entry: Entry) => unknown,
  ) =>
    act({}, async (store) => {
      const entry = (await store.get(id)) as Entry
      work(store, entry)
      await act({}, (second) => void other(second, entry))
    })
  const add = (content: string) => (store: EntryStore) => store.add({ scope: 'a/b', content })
  await assert.rejects(meanwhile(add('the  same\nwords'), add('the same words')), conflict)
  await assert.rejects(act({}, add(' said once ')), conflict)
  await meanwhile(
    (store, entry) => store.amend(entry, { topics: ['y'] }),
    (store, entry) => store.amend(entry, { topics: ['z', 'x'] }),
  )
  const amended = await act({}, (store) => store.get(id))
  assert.deepEqual(amended?.topics, ['x', 'z', 'y'])
  await assert.rejects(
    meanwhile(
      (store, entry) => store.amend(entry, { topics: ['late'] }),
      (store, entry) => store.forget(entry),
    ),
    conflict,
  )
  assert.equal(await act({}, (store) => store.get(id)), undefined)
})

test('an entry comes back as it was given, and a superseded one with what has its place [G-76]', async () => {
  const { act } = await opened()
  const body = { type: 'fact', deep: [1, { a: null }] }
  const id = await act({}, (store) => store.add({ scope: 'a/b/c', content: ' Two  words ', topics: ['x', 'x'], body }))
  assert.match(id, /^mem_[0-9a-f]{16}$/)
  const source = { agentId: 'desk', runId: 'run_0000000000000002' }
  const at = '1970-01-01T00:00:00.000Z'
  const entry = {
    id,
    scope: 'a/b/c',
    content: ' Two  words ',
    topics: ['x'],
    body,
    createdAt: at,
    updatedAt: at,
    source,
  }
  assert.deepEqual(await act({}, (store) => store.get(id)), entry)
  assert.deepEqual(await act({}, (store) => store.findEqual('a/b/c', 'Two\u00a0words')), entry)
  assert.equal(await act({}, (store) => store.findEqual('a/b', 'Two words')), undefined)
  const next = await act({}, (store) => store.supersede(entry, { content: 'three words' }))
  assert.deepEqual(await act({}, (store) => store.get(id)), { ...entry, replacedBy: next })
  assert.deepEqual(await act({}, (store) => store.get(next)), { ...entry, id: next, content: 'three words' })
  assert.deepEqual(
    (await act({}, (store) => store.find())).entries.map((each) => each.id),
    [next],
  )
})

test('what is touched is what was asked for and what came back, and after its call a handle gives nothing [G-47 G-49]', async () => {
  const { act, open } = await opened()
  const id = await act({}, (store) => store.add({ scope: 'a/b/c', content: 'x' }))
  const { handle, touched, changes, end } = open()
  assert.deepEqual(handle.scopes, ['a/b', 'a'])
  assert.deepEqual(touched(), [])
  await handle.get(id)
  assert.deepEqual(touched(), ['a/b/c'])
  await handle.find({ scopes: ['a'] })
  handle.add({ scope: 'a/b/d', content: 'y' })
  assert.deepEqual(touched(), ['a/b/c', 'a', 'a/b/d'])
  end()
  assert.throws(() => handle.add({ scope: 'a/b', content: 'z' }), denied)
  for (const late of [() => handle.find(), () => handle.topics(), () => handle.findEqual('a/b', 'x')])
    await assert.rejects(late(), denied)
  assert.equal(await handle.get(id), undefined)
  assert.equal(changes().length, 1)
})

test('an entry that is too large, or with a topic that is none, is refused before anything is kept [G-76]', async () => {
  const { open } = await opened()
  const { handle, changes } = open()
  assert.throws(() => handle.add({ scope: 'a/b', content: 'é'.repeat(32 * 1024 + 1) }), { code: 'memory.too_large' })
  for (const topics of [[''], ['x'.repeat(129)]])
    assert.throws(() => handle.add({ scope: 'a/b', content: 'x', topics }), { code: 'memory.content_invalid' })
  assert.deepEqual(changes(), [])
})
