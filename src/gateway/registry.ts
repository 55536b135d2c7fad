import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { objectHash } from '../base/hash.ts'
import { marksOf } from '../evidence/redaction/marks.ts'
import { isPrivateName } from '../evidence/redaction/names.ts'
import type { Marks } from '../evidence/redaction/redact-values.ts'
import { type CapabilityDescriptor, capabilityDescriptor, type Lifecycle } from '../model/capability.ts'
import type { AttemptRecord, PolicyState } from '../model/evidence.ts'
import { parseAs } from '../model/parse.ts'
import { type Contract, compileContract } from '../policy/contract.ts'
import { type Availability, isCallable } from '../policy/gates/checks.ts'
import type { SchemaProblem } from '../policy/schema/problems.ts'
import { compileLater, compileSchema } from '../policy/schema/schema.ts'
import type { Capability } from './capability.ts'

/** A capability that passed every check of registration, with what calls need of it worked out. */
export interface Registered extends Capability {
  readonly digest: string
  /** What it declares of its own policy, as calls have it on record; null if nothing. */
  readonly declared: NonNullable<AttemptRecord['policy']> | null
  readonly lifecycle: Lifecycle
  readonly contract: Contract | undefined
  readonly checkInput: (value: Json) => SchemaProblem[]
  readonly checkOutput: (value: Json) => SchemaProblem[]
  readonly inputMarks: Marks
  readonly outputMarks: Marks
  /** What those who answer for a call are not shown of it. */
  readonly approverMarks: () => Marks
  /** True if a call may have to wait for a yes: then its payload has no fractions, so that its commitment is portable. */
  readonly mayNeedApproval: boolean
}

/** Whether it can be called now, in one word that gate 3 and discovery share. What a configuration says comes first. */
export const standingOf = ({ lifecycle, hindrance }: Registered): Availability =>
  (isCallable(lifecycle) ? hindrance?.() : undefined) ?? { lifecycle }

export type Registry = ReturnType<typeof openRegistry>

export interface RegistryOptions {
  /** Lifecycle by capability id, where it is not `invokable`. */
  readonly lifecycles?: Readonly<Record<string, Lifecycle>>
  /** Whose ids may begin with a reserved word: the fixture of the conformance suite, and our own. */
  readonly reserved?: readonly string[]
  /** Capabilities that a policy may ask people about. */
  readonly asked?: (id: string) => boolean
}

/** Registers capabilities, all or none. */
export function openRegistry(capabilities: readonly Capability[], options: RegistryOptions = {}) {
  const byId = new Map<string, Map<string, Registered>>()
  const given = new Map<Registered, Capability>()
  for (const capability of capabilities) {
    const made = register(capability, options)
    const { id, version } = made.descriptor
    const known = byId.get(id) ?? new Map<string, Registered>()
    const other = known.get(version)
    if (other !== undefined && other.digest !== made.digest)
      throw invalid(id, `version ${version} is registered with other content`)
    // What they do may differ where what they say does not: only the very same is one.
    if (other !== undefined && given.get(other) !== capability)
      throw invalid(id, `version ${version} is registered twice: give one of them another id or version`)
    known.set(version, made)
    given.set(made, capability)
    byId.set(id, known)
  }
  const versions = new Map([...byId].map(([id, known]) => [id, [...known.keys()]]))
  const all = [...byId.values()].flatMap((known) => [...known.values()])
  return {
    versions: (id: string): readonly string[] => versions.get(id) ?? [],
    get: (id: string, version: string) => byId.get(id)?.get(version),
    all: (): readonly Registered[] => all,
  }
}

const reservedWords = ['chp.', 'conformance.', 'ambit.', 'workspace.', 'agent.']

function register(capability: Capability, { lifecycles = {}, reserved = [], asked }: RegistryOptions): Registered {
  const descriptor = withoutHostWords(parseAs(capabilityDescriptor, capability.descriptor, 'capability'))
  const { id, policy, metadata } = descriptor
  const word = reservedWords.find((prefix) => id.startsWith(prefix) && !reserved.includes(prefix))
  if (word !== undefined) throw invalid(id, `ids that begin with ${quote(word)} are not for capabilities of users`)
  checkEmits(descriptor)
  const contract = metadata?.context && compileContract(metadata.context)
  const classification = policy?.data_classification
  const classified = classification === undefined ? {} : { classification }
  const input = {
    schema: capability.input.json as Json,
    pointers: [...capability.redact, ...sensitiveSources(contract)],
    ...classified,
  }
  // What may be hindered comes from elsewhere, with schemas that others wrote.
  const compile = capability.hindrance === undefined ? compileSchema : compileLater
  return {
    ...capability,
    descriptor,
    digest: objectHash(descriptor as Json),
    declared: declaredOf(descriptor),
    lifecycle:
      (Object.hasOwn(lifecycles, id) ? lifecycles[id] : undefined) ??
      (descriptor.status === 'deprecated' ? 'deprecated' : 'invokable'),
    contract,
    checkInput: named(id, 'input', () => compile(capability.input.json)),
    checkOutput: named(id, 'output', () => compile(capability.output.json)),
    inputMarks: marksOf(input),
    outputMarks: marksOf({ schema: capability.output.json as Json, pointers: capability.redact, ...classified }),
    approverMarks: () => marksOf({ ...input, isNamed: isPrivateName }),
    mayNeedApproval:
      requiresApproval(descriptor) ||
      (metadata?.policy?.may_require ?? []).includes('approval') ||
      asked?.(id) === true,
  }
}

/** What is made of a schema; what is wrong with it is told with whose it is. */
function named<T>(id: string, which: 'input' | 'output', make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(error.code, `capability ${quote(id)}, ${which}: ${error.message}`, error.data, error.help)
  }
}

/** Lifecycle and policy state are this host's to say, and no part of what is registered. */
function withoutHostWords(descriptor: CapabilityDescriptor): CapabilityDescriptor {
  const { metadata } = descriptor
  if (metadata?.lifecycle === undefined && metadata?.policy?.state === undefined) return descriptor
  const { lifecycle: _, policy, ...rest } = metadata
  const { state: __, ...boundary } = policy ?? {}
  return { ...descriptor, metadata: { ...rest, ...(policy && { policy: boundary }) } }
}

function declaredOf(descriptor: CapabilityDescriptor): Registered['declared'] {
  if (descriptor.policy === undefined) return null
  return {
    name: descriptor.metadata?.policy?.name ?? 'declared',
    version: descriptor.version,
    hash: objectHash(descriptor.policy as Json) as `sha256:${string}`,
    state: stateOf(descriptor),
  }
}

/** The policy state that a capability declares, as people are shown it before they call. */
export function stateOf(descriptor: CapabilityDescriptor): PolicyState {
  const { policy, assurance } = descriptor
  if (policy === undefined) return 'blocked'
  if (requiresApproval(descriptor)) return 'approval_required'
  if (policy.auth_required === true) return 'restricted'
  return assurance !== undefined && assurance.level !== 'S1' ? 'audited' : 'open'
}

/** Whether a capability by its own declaration, or its tier, has a person decide about every call. */
export const requiresApproval = ({ policy, metadata }: CapabilityDescriptor): boolean =>
  policy?.approval_required === true || ['approval_required', 'human_driven'].includes(metadata?.autonomy?.tier ?? '')

const sensitiveSources = (contract: Contract | undefined): string[] =>
  Object.values(contract?.declared.fields ?? {}).flatMap(({ source, sensitive }) =>
    sensitive === true && source.startsWith('payload:') ? [source.slice('payload:'.length)] : [],
  )

/** The types a handler may emit: declared ones, none of which are the protocol's or ours. */
function checkEmits({ id, emits }: CapabilityDescriptor): void {
  const bad = emits.find((type) => type.startsWith('ambit.'))
  if (bad !== undefined) throw invalid(id, `it cannot emit ${quote(bad)}`)
}

const invalid = (id: string, why: string): Failure =>
  new Failure('capability.invalid', `capability ${quote(id)}: ${why}`, { id })
