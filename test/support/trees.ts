// Trees of agents that are drawn at random, and what each run of one may touch: worked out from the tree alone, by a
// reference that shares nothing with the source.

import fc from 'fast-check'
import { anyPath, isAtOrBelow, world } from './grants.ts'

export const ranks = ['none', 'read', 'read-write'] as const
export type Mode = (typeof ranks)[number]

/** The resources there are, by name; two are of one kind. */
export const kinds: Readonly<Record<string, string>> = { lies: 'lies', other: 'lies', memory: 'memory' }
export const toolsOf: Readonly<Record<string, Readonly<Record<string, Mode>>>> = {
  lies: { read: 'read', grab: 'read', write: 'read-write' },
  memory: { topics: 'read', read: 'read', write: 'read-write', correct: 'read-write', forget: 'read-write' },
}

export interface Entry {
  readonly mode?: 'read' | 'read-write'
  readonly delegate?: Mode
  readonly namespace?: readonly string[]
  readonly expose?: readonly string[]
}

/** An agent, with those that it may start. */
export type Node = {
  /** Where its provider looks, beside its grants. */
  readonly probes: readonly string[]
  /** What its provider says falsely: scopes that it has not touched, entries as if they lay elsewhere. */
  readonly lies: { readonly scopes: boolean; readonly entries: boolean }
  /** Which calls its model tries, of all that it can think of. */
  readonly tries: readonly number[]
} & (
  | { readonly kind: 'llm'; readonly resources: Readonly<Record<string, Entry>>; readonly below: readonly Below[] }
  | { readonly kind: 'code' | 'sequential' | 'parallel'; readonly below: readonly Below[] }
)

interface Below {
  readonly node: Node
  /** What code asks for: paths as they are, or below its grants. Undefined inherits. */
  readonly context: readonly (string | { readonly grant: number; readonly suffix: string | undefined })[] | undefined
  /** Suffixes that a step puts below each grant. */
  readonly narrow: readonly string[] | undefined
}

export interface Tree {
  readonly context: readonly string[]
  readonly top: Node
}

/** The tenant holds these, and grants below them alone. */
export const roots = ['a', 'ab', 'a-b/a']

/** Where something lies before the first run: below the roots, at them, above them and beside them. */
export const places = world.filter((path) => /^[ab/-]+$/.test(path))

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })

const sometimes = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const anyEntry = (name: string): fc.Arbitrary<Entry> =>
  fc.record({
    mode: fc.constantFrom(undefined, 'read', 'read-write', 'read-write', 'read-write'),
    delegate: fc.constantFrom(undefined, undefined, 'read-write', 'read', 'none'),
    namespace: sometimes(fc.array(anyPath, { maxLength: 3 })),
    expose: sometimes(fc.subarray(Object.keys(toolsOf[kinds[name] ?? ''] ?? {}))),
  }) as fc.Arbitrary<Entry>

const common = {
  probes: fc.uniqueArray(fc.constantFrom(...places), { minLength: 2, maxLength: 4 }),
  lies: fc.record({ scopes: fc.constantFrom(false, false, true), entries: fc.constantFrom(false, false, true) }),
  tries: fc.array(fc.nat(), { minLength: 4, maxLength: 8 }),
}

const resources = fc.record(Object.fromEntries(Object.keys(kinds).map((name) => [name, anyEntry(name)])), {
  requiredKeys: ['lies'],
}) as fc.Arbitrary<Readonly<Record<string, Entry>>>

const below = fc.record({ grant: fc.nat(3), suffix: optional(anyPath) })

function anyNode(depth: number): fc.Arbitrary<Node> {
  const leaf = fc.record({ ...common, kind: fc.constant('llm' as const), resources, below: fc.constant([]) })
  if (depth === 0) return leaf
  const child = fc.record({
    node: anyNode(depth - 1),
    context: optional(fc.array(fc.oneof(below, below, below, anyPath), { maxLength: 3 })),
    narrow: optional(fc.array(anyPath, { maxLength: 1 })),
  })
  const children = fc.array(child, { minLength: 1, maxLength: 2 })
  const llm = fc.record({ ...common, kind: fc.constant('llm' as const), resources, below: children })
  const plain = fc.record({ ...common, kind: fc.constantFrom('code', 'sequential', 'parallel'), below: children })
  return fc.oneof(
    { weight: 1, arbitrary: leaf },
    { weight: 3, arbitrary: llm },
    { weight: 3, arbitrary: plain },
  ) as fc.Arbitrary<Node>
}

const isRooted = (path: string): boolean => roots.some((root) => isAtOrBelow(path, root))

export const anyTree: fc.Arbitrary<Tree> = fc.record({
  context: fc.array(fc.oneof(fc.constantFrom(...roots), fc.constantFrom(...places.filter(isRooted))), { maxLength: 3 }),
  top: anyNode(5),
})

/** What a run may do at most. */
export interface Truth {
  readonly node: Node
  readonly grants: readonly string[]
  readonly ceilings: Readonly<Record<string, Mode>>
  /** What it asks for its children. */
  readonly wanted: readonly (readonly string[])[]
  readonly resources: Readonly<
    Record<string, { readonly grants: readonly string[]; readonly mode: Mode; readonly tools: readonly string[] }>
  >
}

const lowest = (...modes: readonly Mode[]): Mode =>
  ranks[Math.min(...modes.map((mode) => ranks.indexOf(mode)))] ?? 'none'

/** The runs that a tree comes to, by the ids of their agents: those that must start, and no others. */
export function truthOf({ context, top }: Tree, prefix: string): ReadonlyMap<string, Truth> {
  const found = new Map<string, Truth>()
  const visit = (node: Node, id: string, held: readonly string[], ceilings: Readonly<Record<string, Mode>>): void => {
    const grants = [...new Set(held)]
    const declared = node.kind === 'llm' ? Object.entries(node.resources) : []
    const resources = declared.map(([name, { mode = 'read', namespace, expose }]) => {
      const kind = kinds[name] ?? ''
      const tools = toolsOf[kind] ?? {}
      const effective = lowest(mode, ceilings[kind] ?? 'read-write')
      const usable = Object.keys(tools).filter(
        (tool) => ranks.indexOf(tools[tool] ?? 'none') <= ranks.indexOf(effective),
      )
      return [
        name,
        {
          grants: meet(grants, namespace),
          mode: effective,
          tools: usable.filter((tool) => expose?.includes(tool) ?? true),
        },
      ] as const
    })
    const below: Record<string, Mode> = { ...ceilings }
    for (const [name, { delegate = 'read-write' }] of declared) {
      const kind = kinds[name] ?? ''
      const own = resources.find(([of]) => of === name)?.[1].mode ?? 'none'
      below[kind] = lowest(below[kind] ?? 'read-write', own, delegate)
    }
    const wanted = node.below.map((child) => wantedOf(node, child, grants))
    found.set(id, { node, grants, ceilings, wanted, resources: Object.fromEntries(resources) })
    for (const [index, paths] of wanted.entries()) {
      const child = node.below[index]?.node
      const isCovered = paths.every((path) => grants.some((grant) => isAtOrBelow(path, grant)))
      if (child !== undefined && isCovered) visit(child, `${id}${index}`, paths, below)
    }
  }
  visit(top, prefix, context, {})
  return found
}

function wantedOf({ kind }: Node, { context, narrow }: Below, grants: readonly string[]): readonly string[] {
  if (kind === 'sequential' || kind === 'parallel')
    return narrow === undefined ? grants : grants.flatMap((grant) => narrow.map((suffix) => `${grant}/${suffix}`))
  if (kind === 'llm' || context === undefined) return grants
  return context.map((asked) => {
    if (typeof asked === 'string') return asked
    const grant = grants[asked.grant % grants.length] ?? 'a'
    return asked.suffix === undefined ? grant : `${grant}/${asked.suffix}`
  })
}

/** What lies below both. */
const meet = (grants: readonly string[], branches: readonly string[] | undefined): readonly string[] =>
  branches === undefined
    ? grants
    : [
        ...new Set(
          grants.flatMap((grant) =>
            branches.flatMap((branch) =>
              isAtOrBelow(grant, branch) ? grant : isAtOrBelow(branch, grant) ? branch : [],
            ),
          ),
        ),
      ]
