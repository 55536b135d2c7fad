import type { Json } from '../base/canonical.ts'
import { defined } from '../base/object.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { ContextContract } from '../model/context.ts'
import type { Actor, Subject } from '../model/identity/subject.ts'
import type { Correlation } from '../model/wire/correlation.ts'
import type { Availability } from '../policy/gates/checks.ts'
import type { Change } from '../storage/work.ts'
import { CallEnded } from './ended.ts'
import { type JsonSchema, type OutputOf, type ReadSchema, readSchema, type SchemaLike } from './schema-like.ts'

type Declared = Omit<
  CapabilityDescriptor,
  'input_schema' | 'output_schema' | 'policy' | 'metadata' | 'side_effects' | 'timeout_s' | 'modes' | 'emits'
>
type DeclaredPolicy = NonNullable<CapabilityDescriptor['policy']>
type Metadata = NonNullable<CapabilityDescriptor['metadata']>

/** What a capability is, as its author writes it. What is left out has the default of the protocol, never a wider one. */
export interface CapabilitySpec<In extends SchemaLike = SchemaLike, Out extends SchemaLike = SchemaLike>
  extends Declared {
  readonly input?: In
  readonly output?: Out
  /** The facts a call must bring: see the guide on policy. */
  readonly context?: ContextContract
  /** Without it no caller may call. `name` and `statement` are for people; `permissions` are all needed. */
  readonly policy?: DeclaredPolicy &
    Pick<NonNullable<Metadata['policy']>, 'name' | 'statement' | 'may_require'> & {
      readonly permissions?: readonly string[]
    }
  /** What it changes in the world. Without effects a call that times out has failed; with them that is unknown. */
  readonly effects?: readonly string[]
  readonly autonomy?: Metadata['autonomy']
  /** Secrets of the tenant that the handler may ask for, by name: handles, never values. */
  readonly credentials?: Metadata['credentials']
  /** Where results come from, such as `https://api.example.com`, and how far a call reaches out: rules read both. */
  readonly origin?: Metadata['origin']
  readonly network?: Metadata['network']
  /** The most that one call costs, and that its result has in bytes: budgets reserve that, and a larger result fails. */
  readonly worstCase?: Metadata['worst_case']
  readonly modes?: CapabilityDescriptor['modes']
  /** Event types of its own that the handler may emit. */
  readonly emits?: readonly string[]
  readonly timeoutS?: number
  /** JSON Pointers of input and output members that must never be seen outside the handler. */
  readonly redact?: readonly string[]
  /**
   * Asked about a call of which only the start is on record, once nothing of it runs any more: whether its effect happened.
   * `done` and `none` are final; what is no such answer counts as `unknown`.
   */
  readonly reconcile?: (call: InterruptedCall) => Promise<Reconciled> | Reconciled
}

export interface InterruptedCall {
  readonly invocationId: string
  /** The one that the handler was given. */
  readonly idempotencyKey: string
  readonly correlation: Correlation
  readonly subject: Subject
}
export type Reconciled = { readonly effect: 'done'; readonly data?: Json } | { readonly effect: 'none' | 'unknown' }

/** One call as its handler sees it. All of it is frozen. */
export interface CallContext {
  /** The caller's own word for the call: others may use the same. */
  readonly invocationId: string
  /** Lets an upstream do the work once: the same for a repeated call, never that of another caller or tenant. */
  readonly idempotencyKey: string
  readonly correlation: Correlation
  readonly subject: Subject
  readonly actor: Actor | null
  readonly purpose: string | null
  /** The declared context, checked. */
  readonly context: Readonly<Record<string, Json>>
  readonly signal: AbortSignal
  /**
   * The value of a secret that the capability names in `credentials`; fails with `secret.not_found`. From then on its
   * text turns up nowhere: not in the result, not in an error, not in evidence.
   */
  secret(name: string): Promise<string>
  /** Says what the call has cost so far, in place of what its capability declares: budgets get the rest back. */
  spent(cost: number | string): void
  /** Adds an event of a declared type to the evidence of this call. */
  emit(type: string, payload: { readonly [key: string]: Json }): void
}

/** Answers the result; as an async generator it yields chunks first and returns the result. */
export type Handler<In, Out> = (
  input: In,
  call: CallContext,
) => Out | Promise<Out> | AsyncGenerator<Json, Out, undefined>

/** Laid over a handler's result: an interface passes, and a `Date`, a `Map` or a function in it does not compile. */
export type JsonResult<T> = unknown extends T
  ? T
  : T extends bigint | symbol | ((...args: never[]) => unknown)
    ? never
    : T extends Json
      ? T
      : { [Key in keyof T]: JsonResult<T[Key]> }

type Answered<T> =
  T extends AsyncGenerator<infer Chunk, infer Out>
    ? AsyncGenerator<JsonResult<Chunk>, JsonResult<Out>, undefined>
    : T extends PromiseLike<infer Out>
      ? PromiseLike<JsonResult<Out>>
      : JsonResult<T>

export interface Capability {
  readonly descriptor: CapabilityDescriptor
  readonly input: ReadSchema
  readonly output: ReadSchema
  readonly redact: readonly string[]
  readonly handler: Handler<unknown, unknown>
  readonly reconcile: CapabilitySpec['reconcile']
  /** All its effects are changes of our own store, committed with the outcome. */
  readonly commits?: true
  /** Exists in runs alone: what it does, the run says (`RunTool`). */
  readonly inRuns?: true
  /** Its results reach a model as text in a fence and in no other form. */
  readonly textOnly?: boolean
  /** Told at every call: what stands in its way now, if anything does. */
  readonly hindrance?: () => Hindrance | undefined
}

/** Why a capability that is offered cannot be called now. */
export type Hindrance = Availability & { readonly reason: string }

/** A typed, governed unit of work: list it in the configuration and call it through the gateway. */
export function defineCapability<In extends SchemaLike = JsonSchema, Answer = unknown>(
  spec: CapabilitySpec<In>,
  handler: (input: OutputOf<In>, call: CallContext) => Answer & Answered<Answer>,
): Capability {
  const { input, output, context, policy, effects, autonomy, credentials, origin, network, worstCase, ...rest } = spec
  const { emits = [], modes = ['sync'], timeoutS, redact = [], reconcile, ...declared } = rest
  const { name, statement, may_require, permissions, ...declaredPolicy } = policy ?? {}
  const boundary = defined({ name, statement, may_require })
  const metadata: Metadata = {
    ...defined({ context, autonomy, credentials, origin, network, worst_case: worstCase }),
    ...(Object.keys(boundary).length > 0 && { policy: boundary }),
    ...(permissions && { required_permissions: [...permissions] }),
  }
  const read = { input: readSchema(input, 'input'), output: readSchema(output, 'output') }
  const descriptor: CapabilityDescriptor = {
    ...declared,
    modes,
    emits: [...new Set([...protocolTypes, ...emits])],
    ...(input && { input_schema: read.input.json as CapabilityDescriptor['input_schema'] }),
    ...(output && { output_schema: read.output.json as CapabilityDescriptor['output_schema'] }),
    ...(effects && { side_effects: [...effects] }),
    ...(policy && { policy: declaredPolicy }),
    ...(timeoutS !== undefined && { timeout_s: timeoutS }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
  return { descriptor, ...read, redact, handler: handler as unknown as Handler<unknown, unknown>, reconcile }
}

/** A capability that is described already, such as one that comes from elsewhere. */
export const describedCapability = (
  descriptor: CapabilityDescriptor,
  handler: Handler<Record<string, Json>, unknown>,
  more: Pick<Capability, 'hindrance' | 'textOnly'> = {},
): Capability => ({
  descriptor,
  input: { json: descriptor.input_schema ?? {}, validate: undefined },
  output: { json: descriptor.output_schema ?? {}, validate: undefined },
  redact: [],
  handler: handler as Handler<unknown, unknown>,
  reconcile: undefined,
  ...more,
})

export const protocolTypes = [
  ...['execution_started', 'execution_completed', 'execution_failed', 'execution_denied', 'execution_skipped'],
  ...['execution_indeterminate', 'approval_requested', 'approval_granted', 'approval_denied'],
  ...['approval_grant_verified', 'budget_exceeded'],
]

/**
 * Answered by a handler of ours: a result, and a change of our own store that is committed with the outcome of the call.
 * Of a capability that `commits` the change is all the effect there is: should it fail with a `Failure`, or the process end
 * before the outcome is written, the call has had none.
 */
export class CommitWith {
  readonly data: unknown
  readonly change: Change | undefined
  /** Every namespace path that was read or written: it goes on record. */
  readonly scopes: readonly string[]
  constructor(data: unknown, change?: Change, scopes: readonly string[] = []) {
    this.data = data
    this.change = change
    this.scopes = scopes
  }
}

/** A capability that exists in runs alone. Without effects of its own, what it does is committed with its outcome. */
export const runCapability = (spec: CapabilitySpec): Capability => ({
  ...defineCapability({ policy: {}, ...spec }, () => {
    throw new CallEnded('run_missing', 'the capability exists in runs alone', { effect: 'none' })
  }),
  inRuns: true,
  ...((spec.effects ?? []).length === 0 && { commits: true as const }),
})
