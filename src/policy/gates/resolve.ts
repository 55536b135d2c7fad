import { quote } from '../../base/failure.ts'
import type { CapabilityDescriptor, Lifecycle } from '../../model/capability.ts'
import { inScope } from '../../model/text.ts'
import { resolveVersion } from '../versions.ts'
import { type Gate, type Refusal, refuse } from './refusal.ts'

/** What a call asks for, before anything is known of it. */
export interface Asked {
  readonly capabilityId: string
  readonly version: string | null
  readonly range: string | undefined
}

/**
 * A key limited to capabilities opens no other. Its scopes are capability ids, or beginnings of them with a `*`; none
 * means all.
 */
export const keyScope: Gate<{ readonly scopes: readonly string[]; readonly capabilityId: string }> = ({
  scopes,
  capabilityId,
}) =>
  scopes.length === 0 || scopes.some((scope) => inScope(scope, capabilityId))
    ? undefined
    : refuse('key_scope', 'policy_blocked', {
        message: 'this key is not for the capability',
        details: { decision: 'deny', reason: 'key_scope' },
      })

export type Resolved = { readonly version: string } | { readonly refusal: Refusal }

/** Which of the registered versions is meant; gates 1 and 2. */
export function resolveCapability({ capabilityId, version, range }: Asked, available: readonly string[]): Resolved {
  if (capabilityId.trim() === '' || available.length === 0) return { refusal: notFound('capability', capabilityId) }
  const found = resolveVersion(available, { exact: version, range })
  if (found.ok) return { version: found.version }
  if (found.code === 'capability_not_found') return { refusal: notFound('version', capabilityId) }
  return {
    refusal: refuse('version', found.code, {
      message: `no version of ${quote(capabilityId)} fits`,
      details: { requested: version ?? range ?? null, available: [...available] },
    }),
  }
}

/** The answer for a capability that is not there, or not there for this run. */
export const notFound = (gate: 'capability' | 'version' | 'surface', capabilityId: string): Refusal =>
  refuse(gate, 'capability_not_found', { message: `capability ${quote(capabilityId)} not found` })

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
export const enabled: Gate<Availability> = ({ lifecycle, reason, retryAfterS }) =>
  isCallable(lifecycle)
    ? undefined
    : refuse('enabled', 'capability_disabled', {
        message: `the capability is ${lifecycle}${reason === undefined ? '' : `: ${reason}`}`,
        details: { lifecycle, retry_after_s: retryAfterS },
      })

/** Gate 4: unknown words are modes that nothing supports. */
export const callMode: Gate<{ readonly mode: string; readonly descriptor: CapabilityDescriptor }> = ({
  mode,
  descriptor,
}) =>
  (descriptor.modes as readonly string[]).includes(mode)
    ? undefined
    : refuse('mode', 'unsupported_mode', {
        message: `the capability cannot be called in mode ${quote(mode)}`,
        details: { supported: [...descriptor.modes] },
      })
