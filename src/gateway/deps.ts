import type { Json } from '../base/canonical.ts'
import type { Signer } from '../base/ed25519.ts'
import type { Ids } from '../base/ids.ts'
import type { Clock } from '../base/time.ts'
import type { TenantDigest } from '../evidence/digests.ts'
import type { Pins } from '../evidence/statements/statement.ts'
import type { SecretValue } from '../keys/secrets.ts'
import type { ApprovalRequest } from '../model/approval.ts'
import type { Seal, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import type { CompiledBudget } from '../policy/budgets.ts'
import type { HostRules } from '../policy/gates/boundary.ts'
import type { PolicySet } from '../policy/policies.ts'
import type { Store } from '../storage/store.ts'
import type { Change } from '../storage/work.ts'
import type { Call } from './call.ts'
import type { Steps } from './recovery/steps.ts'
import type { Registry } from './registry.ts'

/** What is offered and by which rules, all of one moment: a call keeps the one it began with. */
export interface Offer {
  readonly registry: Registry
  readonly policies: PolicySet
  readonly rules: HostRules
  /** Fetches facts for `host:` fields of contexts, by name. */
  readonly resolvers: Readonly<Record<string, Resolver>>
  readonly safety: SafetyEvaluator | undefined
  /** Whose mandates are believed. */
  readonly mandatePins: Pins
  /** Whose statements about heads are kept, from any sender. */
  readonly witnessPins: Pins
  /** Whether lists of actors accept an unverified identity. */
  readonly unverifiedActors: 'refuse' | 'accept'
  /** Denies a result that breaks its output schema, instead of marking it. */
  readonly strictOutput: boolean
  /** Which calls share one history, where the door names none. */
  readonly history: 'principal' | 'correlation'
  /** How long a history is kept after its last call; undefined where no rule reads it and no capability declares a data class. */
  readonly historyMs: number | undefined
  readonly budgets: ReadonlyMap<string, readonly CompiledBudget[]>
}

export type Resolver = (call: Call) => Promise<Json | undefined> | Json | undefined

/** Looks at every call that nothing else has stopped. `score` is from 0 (harmless) to 1. */
export type SafetyEvaluator = (call: Call) => Promise<SafetyVerdict> | SafetyVerdict
export interface SafetyVerdict {
  readonly approved: boolean
  readonly level: 'none' | 'low' | 'medium' | 'high' | 'critical'
  readonly score: number
  readonly guardrail?: string
}

export interface GatewayDeps {
  readonly tenant: TenantId
  readonly hostId: string
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly random: (bytes: number) => Uint8Array
  readonly digest: TenantDigest
  /** The secret of the tenant behind a handle; fails with `secret.not_found`. */
  readonly secret: (handle: string) => Promise<SecretValue>
  readonly seal: Seal
  /** The host's key, for what it signs in the name of people it has authenticated; and all keys it ever had. */
  readonly signer: () => Promise<Signer>
  readonly hostKeys: () => Promise<readonly string[]>
  /** To be told of every event that was written. */
  readonly wrote: (events: readonly SealedEvent[]) => void
  /** What else is kept when a request for approval changes: a run that waits for it becomes due. */
  readonly decided?: (request: ApprovalRequest) => readonly Change[]
  /** Names this process, so that others can tell when it is gone: see `Presence`. */
  readonly owner: string
  readonly offer: () => Offer
  /** Takes away correlations that are kept no longer, a hundred in a step, and answers how many. */
  readonly retain: (steps: Steps) => Promise<number>
}
