import { byUnit, type Json } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { shortened } from '../../base/words.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import { isCallable } from '../../policy/gates/checks.ts'
import { resolveVersion } from '../../policy/versions.ts'
import { requiresApproval } from '../registry.ts'
import { fenceText } from './result-text.ts'
import { type Remark, withoutWords } from './schema.ts'

export { failureText, resultText } from './result-text.ts'

type Members = { readonly [key: string]: Json | undefined }

export interface Tool {
  /** At most 64 letters, digits, `_` and `-`; the same for the same offer. */
  readonly name: string
  readonly description: string
  /** Always that of an object. */
  readonly inputSchema: Members
  readonly outputSchema?: Members
  readonly capabilityId: string
  readonly version: string
  readonly mode: CapabilityDescriptor['modes'][number]
  /** Hints; the gates decide. Undeclared effects count as some, and effects as destructive unless the risk is small. */
  readonly annotations: { readonly title?: string; readonly readOnlyHint: boolean; readonly destructiveHint: boolean }
}

/**
 * The tools of these capabilities: of each id the highest version that can be called, in the order of their ids. `seed` is
 * the secret of the fence, at least 128 random bits; one of this process unless given.
 */
export function toolsOf(descriptors: readonly CapabilityDescriptor[], { seed }: { seed?: Uint8Array } = {}) {
  const offered = newest(descriptors.filter(isOffered))
  const names = namesOf(offered.map(({ id }) => id))
  return offered.map((descriptor) => toolOf(descriptor, names.get(descriptor.id) ?? '', seed))
}

/** True if it can be called as far as is known before. One without a policy of its own may still be allowed by the host's. */
export const isOffered = ({ policy, metadata }: CapabilityDescriptor): boolean => {
  const { lifecycle = 'invokable', policy: boundary } = metadata ?? {}
  return isCallable(lifecycle) && lifecycle !== 'blocked' && (policy === undefined || boundary?.state !== 'blocked')
}

function newest(descriptors: readonly CapabilityDescriptor[]): readonly CapabilityDescriptor[] {
  const ofId = Map.groupBy(descriptors, ({ id }) => id)
  return [...ofId.keys()].toSorted(byUnit).flatMap((id) => {
    const known = ofId.get(id) ?? []
    const versions = known.map(({ version }) => version)
    const found = resolveVersion(versions, { range: '*' })
    return known.filter(({ version }) => found.ok && version === found.version).slice(0, 1)
  })
}

/** A name of its own for every id. Ids that would read alike all get a hash, so that none takes the name of another. */
function namesOf(ids: readonly string[]): ReadonlyMap<string, string> {
  const hashed = new Set(ids.filter((id) => id.length > limits.toolNameCharsMax))
  for (;;) {
    const names = new Map(ids.map((id) => [id, hashed.has(id) ? hashedName(id) : plainName(id)]))
    const alike = [...Map.groupBy(ids, (id) => names.get(id)).values()].filter(({ length }) => length > 1).flat()
    const added = alike.filter((id) => !hashed.has(id))
    if (added.length === 0) return names
    for (const id of added) hashed.add(id)
  }
}

const plainName = (id: string): string => id.replace(/[^A-Za-z0-9_-]/g, '_')
const hashedName = (id: string): string =>
  `${plainName(id).slice(0, limits.toolNameCharsMax - 17)}_${sha256(id).slice(0, 16)}`

function toolOf(descriptor: CapabilityDescriptor, name: string, seed: Uint8Array | undefined): Tool {
  const { id, version, modes, output_schema, input_schema = {}, side_effects } = descriptor
  const foreign = isForeign(descriptor)
  const input = foreign ? withoutWords(input_schema as Members) : { schema: input_schema as Members, remarks: [] }
  const output = output_schema && (foreign ? withoutWords(output_schema as Members).schema : (output_schema as Members))
  return {
    name,
    description: foreign ? foreignText(descriptor, input.remarks, seed) : descriptor.description,
    inputSchema: { ...input.schema, type: 'object', properties: input.schema['properties'] ?? {} },
    ...(output && { outputSchema: output }),
    capabilityId: id,
    version,
    mode: preferred.find((mode) => modes.includes(mode)) ?? 'sync',
    annotations: {
      ...(!foreign && descriptor.name !== undefined && { title: descriptor.name }),
      readOnlyHint: side_effects?.length === 0,
      destructiveHint: side_effects?.length !== 0 && !isHarmless(descriptor),
    },
  }
}

const isHarmless = (descriptor: CapabilityDescriptor): boolean =>
  descriptor.side_effects !== undefined &&
  ['low', 'medium'].includes(descriptor.risk ?? '') &&
  !requiresApproval(descriptor)

const preferred = ['sync', 'stream', 'async', 'fire_and_forget'] as const

/** True if others wrote what it says of itself. */
const isForeign = ({ metadata }: CapabilityDescriptor): boolean => metadata?.origin !== undefined

/** The description and the remarks of the schema in one fence, cut so that all of it fits. */
function foreignText({ id, description }: CapabilityDescriptor, remarks: readonly Remark[], seed?: Uint8Array) {
  const charsMax = limits.toolDescriptionCharsMax
  const whole = [description, ...remarks.map(({ at, text }) => `${at === '' ? 'arguments' : at}: ${text}`)].join('\n')
  for (let room: number = charsMax; ; ) {
    const text = fenceText(id, shortened(whole, Math.max(room, 0)), seed)
    if (text.length <= charsMax || room <= 0) return text
    room -= text.length - charsMax
  }
}
