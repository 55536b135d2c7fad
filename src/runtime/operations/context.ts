import { Failure } from '../../base/failure.ts'
import { parseDuration, parseInstant } from '../../base/time.ts'
import type { TraceParent } from '../../base/trace.ts'
import type { CallCaller } from '../../gateway/call.ts'
import type { Handlers, Operation } from '../../operations/operation.ts'
import type { operations } from '../../operations/table.ts'
import type { AmbitHost } from '../hosting/host.ts'
import { type Caller, demand, demandName } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'

/** Who asks for an operation, and what it is carried out with. */
export interface OperationContext {
  readonly ambit: Runtime
  readonly caller: Caller
  /** The same caller as the gateway knows it. */
  readonly by: CallCaller
  /** The host of the caller's tenant. */
  readonly host: () => Promise<AmbitHost>
  /** Whether the caller came through a server: then only the roots of the tenant hold grants. */
  readonly served?: boolean
  /** Whether the door records itself what is refused there. */
  readonly recordsRefusals?: boolean
  /** The place in a trace that the request has. */
  readonly place?: TraceParent
  /** Ends a stream that waits for its next item. */
  readonly signal?: AbortSignal
}

/** What carries some of the operations out. */
export type HandlersOf<Names extends keyof Table = keyof Table> = Handlers<Pick<Table, Names>, OperationContext>
type Table = typeof operations

/** Refuses a caller that may not use the operation at all; what it does may demand more. */
export function demandRight({ caller }: OperationContext, { right }: Operation): void {
  if (right === 'mint') demandName(caller)
  if (right === 'audit' || right === 'administer' || right === 'mint') demand(caller, right)
  if (right !== 'decide' || (caller.subject.verified === true && caller.scopes.length === 0)) return
  const help = 'use an unscoped API key of a registered approver'
  throw new Failure('approver.not_permitted', 'only a caller with a name and an unlimited key may decide', {}, help)
}

/** A duration that has the form of one. */
export const msOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : parseDuration(text)

/** A time, or an age, as we write times. */
export function timeOf({ clock }: Runtime, text: string | undefined, pointer: string): string | undefined {
  if (text === undefined) return undefined
  const time = parseInstant(text, clock.now())
  if (time !== undefined) return time
  throw new Failure('field.invalid', `\`${pointer}\` is no time, such as 2026-01-31T08:00:00Z or 7d`, { pointer })
}
