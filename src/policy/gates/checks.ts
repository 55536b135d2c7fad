import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import type { JsonObject } from '../../base/object.ts'
import type { CapabilityDescriptor, Lifecycle } from '../../model/capability.ts'
import { inScopes } from '../../model/text.ts'
import { type Caller, isAllowedActor } from '../actors.ts'
import type { CollectedContext } from '../contract.ts'
import { resolveVersion } from '../versions.ts'
import { deny, type Gate, type GateName, type Refusal, refuse } from './refusal.ts'

export interface Asked {
  readonly capabilityId: string
  readonly version: string | null
  readonly range: string | undefined
}

/** Scopes of a key are capability ids, or beginnings of them with a `*`; none means all. */
export const keyScope: Gate<{ readonly scopes: readonly string[]; readonly capabilityId: string }> = ({
  scopes,
  capabilityId,
}) =>
  scopes.length === 0 || inScopes(scopes, capabilityId)
    ? undefined
    : deny('key_scope', 'this key is not for the capability', { reason: 'key_scope' })

export type Resolved = { readonly version: string } | { readonly refusal: Refusal }

/** Which of the registered versions is meant; gates 1 and 2. */
export function resolveCapability({ capabilityId, version, range }: Asked, available: readonly string[]): Resolved {
  if (capabilityId.trim() === '' || available.length === 0) return { refusal: notFound('capability', capabilityId) }
  const found = resolveVersion(available, { exact: version, range })
  if (found.ok) return { version: found.version }
  if (found.code === 'capability_not_found') return { refusal: notFound('version', capabilityId) }
  const details = { requested: version ?? range ?? null, available: [...available] }
  return { refusal: refuse('version', found.code, `no version of ${quote(capabilityId)} fits`, details) }
}

/** The answer for a capability that is not there, or not there for this run. */
export const notFound = (gate: 'capability' | 'version' | 'surface', capabilityId: string): Refusal =>
  refuse(gate, 'capability_not_found', `capability ${quote(capabilityId)} not found`)

export interface Availability {
  readonly lifecycle: Lifecycle
  /** Why, in words for people. */
  readonly reason?: string
  readonly retryAfterS?: number
}

const callable: ReadonlySet<string> = new Set(['invokable', 'verified', 'deprecated', 'restricted', 'blocked'])

/** True if gate 3 lets calls through in this lifecycle state. Discovery shows the same word. */
export const isCallable = (lifecycle: string): boolean => callable.has(lifecycle)

/** Gate 3: a capability that is switched off or away is skipped, and says so. */
export const enabled: Gate<Availability> = ({ lifecycle, reason, retryAfterS }) => {
  if (isCallable(lifecycle)) return undefined
  const message = `the capability is ${lifecycle}${reason === undefined ? '' : `: ${reason}`}`
  return refuse('enabled', 'capability_disabled', message, { lifecycle, retry_after_s: retryAfterS })
}

/** Gate 4: unknown words are modes that nothing supports. */
export const callMode: Gate<{ readonly mode: string; readonly descriptor: CapabilityDescriptor }> = ({
  mode,
  descriptor: { modes },
}) => {
  if ((modes as readonly string[]).includes(mode)) return undefined
  const message = `the capability cannot be called in mode ${quote(mode)}`
  return refuse('mode', 'unsupported_mode', message, { supported: [...modes] })
}

/** Who calls, with the rights the directory gives, and those it has taken away. */
export interface Rights {
  readonly descriptor: CapabilityDescriptor
  readonly caller: Caller
  readonly permissions: readonly string[]
  readonly revokedPermissions: readonly string[]
  /** Whether lists of actors accept an unverified identity. */
  readonly unverifiedActors: 'refuse' | 'accept'
}

/** Gate 5b for every call: a verified subject where one is demanded, its permissions, then the list of actors. */
export const rights: Gate<Rights> = ({ descriptor, caller, permissions, revokedPermissions, unverifiedActors }) => {
  const isVerified = caller.subject.verified === true
  if (descriptor.policy?.auth_required === true && !isVerified)
    return blocked('entitlement_denied', 'the capability needs a verified caller')
  const needed = descriptor.metadata?.required_permissions ?? []
  const missing = needed.find((permission) => !isVerified || !permissions.includes(permission))
  if (missing !== undefined)
    return isVerified && revokedPermissions.includes(missing)
      ? blocked('entitlement_revoked', 'a permission that the call needs was taken back', missing)
      : blocked('entitlement_denied', 'the caller lacks a permission that the call needs', missing)
  return isAllowedActor(descriptor.policy?.allowed_actors ?? [], caller, { unverified: unverifiedActors })
    ? undefined
    : blocked('entitlement_denied', 'the caller is not among the actors that may call this')
}

const blocked = (reason: string, message: string, right?: string): Refusal => deny('rights', message, { reason, right })

/** Gate 6: the context contract. Fields are named and places given; no value ever is. */
export const context: Gate<{ readonly context: CollectedContext }> = ({
  context: { undeclared, missing, problems },
}) => {
  const unfit = (message: string, details: JsonObject): Refusal =>
    refuse('policy', 'input_schema_validation_failed', message, { part: 'context', ...details })
  if (undeclared.length > 0)
    return unfit('the context has members that the contract does not declare', { undeclared: [...undeclared] })
  if (missing.length > 0)
    return refuse('policy', 'evidence_required', 'the context lacks fields that the contract demands', {
      decision: 'requires_more_evidence',
      missing: [...missing],
      required_next_action: 'send the missing fields with a new `invocation_id`',
    })
  const [problem] = problems
  if (problem === undefined) return undefined
  const { path, keyword } = problem
  return unfit('a field of the context is not what the contract says', { path, keyword })
}

type Invariant = NonNullable<CapabilityDescriptor['invariants']>[number]

/** Gate 7: what the host itself must hold to be true of a call. One it does not know how to check denies. */
export const invariants: Gate<{ readonly descriptor: CapabilityDescriptor; readonly payload: JsonObject }> = ({
  descriptor,
  payload,
}) => {
  for (const invariant of descriptor.invariants ?? []) {
    if (invariant.enforcement !== 'host' || (invariant.failure_behavior ?? 'deny') !== 'deny') continue
    const problem = problemOf(invariant, payload)
    if (problem !== undefined) return invariantFailed('invariants', problem, invariant.id)
  }
  return undefined
}

function problemOf({ id, kind, parameters }: Invariant, payload: JsonObject): string | undefined {
  if (kind !== 'required_payload_fields') return `the host cannot check invariant ${quote(id)}`
  const fields = parameters?.['fields']
  if (!Array.isArray(fields)) return `invariant ${quote(id)} names no fields`
  const missing = fields.find((field) => typeof field !== 'string' || !Object.hasOwn(payload, field))
  return missing === undefined ? undefined : `the payload lacks a field that invariant ${quote(id)} demands`
}

function invariantFailed(gate: GateName, message: string, invariant_id: string): Refusal {
  const refusal = refuse(gate, 'invariant_failed', message)
  return { ...refusal, denial: { ...refusal.denial, invariant_id } }
}

/** A commitment that people sign must be the same for everybody who computes it, and fractions are not. */
export const fraction = (gate: 'policy' | 'invariants'): Refusal =>
  invariantFailed(gate, 'a call that may need approval takes no fractions: send them as text', 'ambit.no_fractions')

export function hasFraction(value: Json | undefined): boolean {
  if (typeof value === 'number') return !Number.isInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasFraction)
}
