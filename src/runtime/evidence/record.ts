import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { makeSeal } from '../../evidence/seal.ts'
import type { EventDraft, SealedEvent } from '../../model/evidence.ts'
import { inScope } from '../../model/text.ts'
import { isOwnCorrelation } from '../../model/wire/correlation.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Change } from '../../storage/work.ts'
import type { Caller } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { draft, type EventInput } from './draft.ts'

export type { EventInput } from './draft.ts'

export interface Recorded<T> {
  readonly value: T
  readonly events: readonly SealedEvent[]
}

/**
 * Seals events in the caller's name and keeps them, together with a change of state when one is given. Refuses what
 * only the runtime may say, and capabilities that the caller's key is not for.
 */
export async function record<T = void>(
  ambit: Runtime,
  caller: Caller,
  inputs: readonly EventInput[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  const events = draftAll(ambit, caller, inputs)
  for (const event of events) {
    checkOwn(event)
    checkScope(caller, event)
  }
  const { host_id } = await ambit.store.read(() => getTenant(caller.tenant))
  return keep(ambit, caller, host_id, events, change)
}

/** As `record`, for the runtime itself: whatever the event, in whichever correlation. */
export async function recordAs<T = void>(
  ambit: Runtime,
  caller: Caller,
  hostId: string,
  inputs: readonly EventInput[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  return keep(ambit, caller, hostId, draftAll(ambit, caller, inputs), change)
}

function draftAll(ambit: Runtime, caller: Caller, inputs: readonly EventInput[]): EventDraft[] {
  if (inputs.length > limits.eventsPerCommitMax)
    throw new Failure('field.invalid', `more than ${limits.eventsPerCommitMax} events at once`, { pointer: '' })
  return inputs.map((input) => draft(ambit, caller, input))
}

async function keep<T>(
  ambit: Runtime,
  { tenant }: Caller,
  hostId: string,
  events: readonly EventDraft[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  const seal = makeSeal({ hostId, tenant })
  const done = await ambit.store.commit(tenant, { ...(change && { change }), events, seal })
  ambit.heads.noteEvents(tenant, done.events)
  return { value: done.value as T, events: done.events }
}

/** Evidence of people, keys and the evidence itself is written by what changes them, and by nobody else. */
function checkOwn({ event_type, correlation: { correlation_id: id } }: EventDraft): void {
  if (/^ambit\./.test(event_type) || runtimeTypes.has(event_type)) throw reserved('/event_type', event_type)
  if (isOwnCorrelation(id)) throw reserved('/correlation/correlation_id', id)
}

const runtimeTypes: ReadonlySet<string> = new Set([
  ...['key_generated', 'key_rotated', 'key_revoked', 'identity_anchored', 'evidence_purged', 'evidence_redacted'],
])

const reserved = (pointer: string, text: string): Failure =>
  new Failure('field.invalid', `event: \`${pointer}\` ${quote(text)} is the runtime's own`, { pointer })

/** A key limited to capabilities speaks of those alone. */
function checkScope({ scopes }: Caller, { capability_id: id }: EventDraft): void {
  if (scopes.length === 0 || scopes.some((scope) => inScope(scope, id))) return
  const help = 'name a capability of the key as `capability_id`, or use another key'
  throw new Failure('caller.not_permitted', `this key is not for the capability ${quote(id)}`, {}, help)
}
