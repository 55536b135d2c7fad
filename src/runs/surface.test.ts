import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { anyPath, grantAt, isDeepFrozen, reachOf } from '../../test/support/grants.ts'
import type { Ceiling, Ceilings, ResourceMode } from '../grants/ceilings.ts'
import type { ProviderFacts } from './agents.ts'
import type { LlmDefinition } from './definition.ts'
import { readManifest } from './manifest.ts'
import { demandRequired, type RunAuthority, resolveSurface } from './surface.ts'

const kinds: readonly ProviderFacts[] = [
  {
    kind: 'memory',
    maxMode: 'read-write',
    tools: { read: {}, topics: { mode: 'read' }, write: { mode: 'read-write' } },
  },
  { kind: 'notes', defaultMode: 'read-write', maxMode: 'read-write', tools: { add: { mode: 'read-write' }, list: {} } },
  { kind: 'files', defaultMode: 'read-write', maxMode: 'read', tools: { list: {}, delete: { mode: 'read-write' } } },
]
const providers = new Map(kinds.map((provider) => [provider.kind, provider]))

interface Entry {
  readonly kind?: string
  readonly mode?: ResourceMode
  readonly expose?: readonly string[]
  readonly delegate?: Ceiling
  readonly namespace?: readonly string[]
  readonly required?: boolean
}

const desk = (resources: Readonly<Record<string, Entry>>, more: object = {}) =>
  readManifest({ id: 'desk', version: '1.0.0', kind: 'llm', instruction: '', resources, ...more }) as LlmDefinition

const resolve = (
  resources: Readonly<Record<string, Entry>>,
  paths: readonly string[],
  ceilings: Ceilings = {},
): RunAuthority =>
  resolveSurface({
    agent: desk(resources),
    ceilings,
    grants: paths.map((path) => grantAt(path)),
    providers,
    isRegistered: () => true,
  })

const reasons = ({ surface }: RunAuthority) =>
  Object.fromEntries(surface.hidden.map(({ tool, reason }) => [tool, reason]))

test('in `read` the model gets tools that read, and in `read-write` both kinds [G-41 G-52 G-53]', () => {
  const read = resolve({ memory: {} }, ['acme'])
  assert.deepEqual(read.surface, {
    tools: ['memory_read', 'memory_topics'],
    hidden: [{ tool: 'memory_write', reason: 'resource_read_only' }],
  })
  const both = resolve({ 'my-memory': { kind: 'memory', mode: 'read-write' } }, ['acme'])
  assert.deepEqual(both.surface, { tools: ['my_memory_read', 'my_memory_topics', 'my_memory_write'], hidden: [] })
  assert.deepEqual(
    both.tools.map(({ capabilityId }) => capabilityId),
    [...['my-memory.read', 'my-memory.topics', 'my-memory.write']],
  )
  assert.deepEqual(both.modes, { 'my-memory': 'read-write' })
  assert(isDeepFrozen(both))
})

test('a tool is hidden for the first reason there is [G-43 G-52]', () => {
  const write = { memory: { mode: 'read-write', expose: ['topics'] } } as const
  const cases: [authority: RunAuthority, read: string | undefined, written: string][] = [
    [resolve(write, ['acme']), 'not_exposed', 'not_exposed'],
    [resolve(write, []), 'grant_missing', 'grant_missing'],
    [resolve(write, [], { memory: 'read' }), 'grant_missing', 'resource_ceiling'],
    [resolve(write, ['acme'], { memory: 'none' }), 'resource_ceiling', 'resource_ceiling'],
    [resolve({ memory: {} }, [], { memory: 'read' }), 'grant_missing', 'resource_read_only'],
    [resolve({ memory: {} }, ['acme'], { memory: 'none' }), 'resource_ceiling', 'resource_ceiling'],
    [resolve({ memory: { expose: [] } }, ['acme']), 'not_exposed', 'resource_read_only'],
    [resolve({ memory: { namespace: ['other'] } }, ['acme']), 'grant_missing', 'resource_read_only'],
  ]
  for (const [authority, read, written] of cases)
    assert.deepEqual([reasons(authority)['memory_read'], reasons(authority)['memory_write']], [read, written])
  assert.deepEqual(reasons(resolve({ files: {} }, ['acme'])), { files_delete: 'resource_read_only' })
})

test('the name of a tool is resource, underscore and tool, in any order, mode and run [G-41]', () => {
  const resource = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/)
  const anyMode = fc.constantFrom<ResourceMode>('read', 'read-write')
  fc.assert(
    fc.property(fc.uniqueArray(resource, { maxLength: 4 }), anyMode, fc.boolean(), (names, mode, granted) => {
      const entries = names.map((name) => [name, { kind: 'notes', mode }] as const)
      const expected = names.flatMap((name) => ['add', 'list'].map((tool) => `${name.replace(/-/g, '_')}_${tool}`))
      for (const order of [entries, entries.toReversed()]) {
        const { tools, surface } = resolve(Object.fromEntries(order), granted ? ['acme'] : [])
        const shown = [...surface.tools, ...surface.hidden.map(({ tool }) => tool)]
        assert.deepEqual(tools.map(({ name }) => name).sort(), expected.toSorted())
        assert.deepEqual(shown.sort(), expected.toSorted())
        assert(shown.every((name) => /^[A-Za-z0-9_]{1,64}$/.test(name)))
      }
    }),
  )
})

test('other tools are on the surface if they are registered, a tool agent has one, and a pipeline none [G-41]', () => {
  const facts = { ceilings: {}, grants: [], providers, isRegistered: (id: string) => id !== 'crm.read' }
  const one = resolveSurface({ ...facts, agent: desk({}, { tools: ['mail.send', 'crm.read', 'agent.help-desk'] }) })
  assert.deepEqual(one.surface, {
    tools: ['mail_send', 'agent_help_desk'],
    hidden: [{ tool: 'crm_read', reason: 'not_registered' }],
  })
  const tool = readManifest({ id: 'one', version: '1.0.0', kind: 'tool', capability: 'mail.send' })
  assert.deepEqual(resolveSurface({ ...facts, agent: tool }).surface, { tools: ['mail_send'], hidden: [] })
  const line = readManifest({ id: 'l', version: '1.0.0', kind: 'sequential', steps: [{ id: 'a', ref: 'one' }] })
  const authority = resolveSurface({ ...facts, agent: line, ceilings: { memory: 'read' } })
  assert.deepEqual([authority.surface, authority.ceilingsBelow], [{ tools: [], hidden: [] }, { memory: 'read' }])
})

test('a kind that has lost its provider since the agent was stored is named at the start of its run [G-40]', () => {
  assert.throws(() => resolve({ old: { kind: 'gone' } }, ['acme']), {
    code: 'resource.unknown_kind',
    data: { agent: 'desk', resource: 'old', kind: 'gone' },
  })
})

test('a resource that is required fails the run where it has no live grant or was not delegated [G-43]', () => {
  const demand = (entry: object, ...held: readonly [paths: string[], ceilings?: Ceilings]): void => {
    const { resources } = resolve({ memory: { required: true, ...entry } }, ...held)
    for (const resource of resources) demandRequired(resource, resource.paths)
  }
  assert.throws(() => demand({}, []), { code: 'grant.missing', message: 'resource `memory` needs a grant' })
  assert.throws(() => demand({ namespace: ['b'] }, ['a']), { code: 'grant.missing' })
  assert.throws(() => demand({}, ['a'], { memory: 'none' }), { code: 'resource.ceiling' })
  demand({}, ['a'], { memory: 'read' })
  demand({ required: false }, [])
})

// The reference: modes are numbers, a ceiling is looked for along all ancestors, and paths are sets of nodes.

const order: readonly Ceiling[] = ['none', 'read', 'read-write']
const height = (mode: Ceiling): number => order.indexOf(mode)

const anyEntry: fc.Arbitrary<Entry> = fc.record(
  {
    mode: fc.constantFrom<ResourceMode>('read', 'read-write'),
    expose: fc.uniqueArray(fc.constantFrom('read', 'write', 'list', 'add')),
    delegate: fc.constantFrom(...order),
    namespace: fc.array(anyPath, { maxLength: 2 }),
  },
  { requiredKeys: [] },
)
const anyResources = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.tuple(fc.constantFrom('memory', 'notes', 'files'), anyEntry).map(([kind, entry]) => ({ ...entry, kind })),
  { maxKeys: 3, noNullPrototype: true },
)

interface Tree {
  readonly resources: Readonly<Record<string, Entry & { readonly kind: string }>>
  readonly paths: readonly string[]
  readonly children: readonly Tree[]
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    resources: anyResources,
    paths: fc.array(anyPath, { maxLength: 3 }),
    children: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie('tree'), { maxLength: 2 })),
  }),
}))

/** Each run of the tree with its ancestors, the nearest last, and what was resolved for it. */
function visit(node: Tree, check: (node: Tree, above: readonly Tree[], found: RunAuthority) => void): void {
  const walk = (here: Tree, above: readonly Tree[], ceilings: Ceilings): void => {
    const found = resolve(here.resources, here.paths, ceilings)
    check(here, above, found)
    for (const child of here.children) walk(child, [...above, here], found.ceilingsBelow)
  }
  walk(node, [], {})
}

const ownHeight = ({ kind, mode }: Entry & { kind: string }): number => {
  const { defaultMode = 'read', maxMode } = providers.get(kind) ?? assert.fail()
  return Math.min(height(mode ?? defaultMode), height(maxMode))
}

/** The lowest of all that an ancestor declares or delegates of this kind, whether or not those between declare it. */
const ceilingOf = (kind: string, above: readonly Tree[]): number =>
  Math.min(
    2,
    ...above
      .flatMap(({ resources }) => Object.values(resources))
      .filter((entry) => entry.kind === kind)
      .map((entry) => Math.min(ownHeight(entry), height(entry.delegate ?? 'read-write'))),
  )

test('over any tree of agents every mode is the lowest of its own and of all ancestors [G-52 G-53 G-55 G-56]', () => {
  fc.assert(
    fc.property(tree, (root) =>
      visit(root, ({ resources }, above, { modes }) => {
        const expected = Object.entries(resources).map(([name, entry]) => [
          name,
          order[Math.min(ownHeight(entry), ceilingOf(entry.kind, above))],
        ])
        assert.deepEqual(modes, Object.fromEntries(expected))
      }),
    ),
  )
})

test('a kind that an ancestor held in `read`, or not at all, is nowhere below it in more [G-55 G-56]', () => {
  fc.assert(
    fc.property(tree, (root) => {
      const seen = new Map<Tree, RunAuthority>()
      visit(root, (node, above, found) => {
        seen.set(node, found)
        for (const { kind, effective } of found.resources) {
          const held = above.flatMap((run) => seen.get(run)?.resources ?? []).filter((one) => one.kind === kind)
          for (const one of held) assert(height(effective) <= height(one.effective))
        }
      })
    }),
  )
})

test('a tool is on the surface exactly if mode, grants and `expose` let it, else hidden for the right reason [G-43 G-52 G-53]', () => {
  fc.assert(
    fc.property(tree, (root) =>
      visit(root, ({ resources, paths }, above, { surface }) => {
        const expected = new Map<string, string | undefined>()
        for (const [name, entry] of Object.entries(resources)) {
          const [own, ceiling] = [ownHeight(entry), ceilingOf(entry.kind, above)]
          const reached = new Set(reachOf(paths))
          const isGranted = (entry.namespace ? reachOf(entry.namespace) : [...reached]).some((path) =>
            reached.has(path),
          )
          for (const [tool, { mode = 'read' }] of Object.entries(providers.get(entry.kind)?.tools ?? {})) {
            const needs = height(mode)
            const lacks =
              ceiling < Math.min(needs, own) || ceiling === 0
                ? 'resource_ceiling'
                : own < needs
                  ? 'resource_read_only'
                  : !isGranted
                    ? 'grant_missing'
                    : entry.expose?.includes(tool) === false
                      ? 'not_exposed'
                      : undefined
            expected.set(`${name}_${tool}`, lacks)
          }
        }
        const found = [
          ...surface.tools.map((tool) => [tool, undefined] as const),
          ...surface.hidden.map(({ tool, reason }) => [tool, reason] as const),
        ]
        assert.equal(found.length, expected.size)
        assert.deepEqual(new Map(found), new Map(found.map(([tool]) => [tool, expected.get(tool)])))
      }),
    ),
  )
})

test('the paths of a resource are those that its run holds and its namespace names, and no others [G-43]', () => {
  fc.assert(
    fc.property(fc.array(anyPath), fc.option(fc.array(anyPath), { nil: undefined }), (paths, namespace) => {
      const { resources } = resolve({ memory: { ...(namespace && { namespace }) } }, paths)
      const reached = new Set(reachOf(namespace ?? paths))
      assert.deepEqual(
        reachOf(resources[0]?.paths ?? []),
        reachOf(paths).filter((path) => reached.has(path)),
      )
    }),
  )
})

test('`expose` changes the own surface alone, and `delegate` what children may hold alone [G-57]', () => {
  const anyCeilings = fc.dictionary(fc.constantFrom('memory', 'notes', 'files'), fc.constantFrom(...order), {
    noNullPrototype: true,
  })
  fc.assert(
    fc.property(anyResources, anyCeilings, anyEntry, anyPath, (resources, ceilings, other, path) => {
      const change = (key: 'expose' | 'delegate') =>
        Object.fromEntries(
          Object.entries(resources).map(([name, { [key]: old, ...rest }]) => [
            name,
            { ...rest, ...(other[key] && { [key]: other[key] }) },
          ]),
        )
      const before = resolve(resources, [path], ceilings)
      const exposed = resolve(change('expose'), [path], ceilings)
      assert.deepEqual([exposed.ceilingsBelow, exposed.modes], [before.ceilingsBelow, before.modes])
      const delegated = resolve(change('delegate'), [path], ceilings)
      assert.deepEqual([delegated.surface, delegated.modes], [before.surface, before.modes])
    }),
  )
})

test('a coordinator delegates what its own model does not see [G-57]', () => {
  const above = resolve({ memory: { mode: 'read-write', expose: [] } }, ['acme'])
  assert.deepEqual(above.surface.tools, [])
  const child = resolve({ memory: { mode: 'read-write', expose: ['write'] } }, ['acme'], above.ceilingsBelow)
  assert.deepEqual(child.surface.tools, ['memory_write'])
})
