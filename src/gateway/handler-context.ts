import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from '../evidence/copy.ts'
import { scrubText } from '../evidence/redaction/redact.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import { deepFreeze } from '../policy/contract.ts'
import { recordKey } from './approvals/request.ts'
import { type Asked, type Attempt, type EventSpec, secretsOf } from './attempt.ts'
import type { CallContext } from './capability.ts'
import type { GatewayDeps } from './deps.ts'
import { checkWords } from './events.ts'
import { spend } from './limits/taken.ts'

type Deps = Pick<GatewayDeps, 'secret' | 'digest'>

/** The same for every attempt at a call. */
export const idempotencyKeyOf = (digest: GatewayDeps['digest'], key: string): string =>
  digest(['ambit-idempotency-v1', key])

/** What a handler is told of its call, and may do with it: an object that may be passed on whole. */
export function handlerContext(
  deps: Deps,
  attempt: Attempt,
  descriptor: CapabilityDescriptor,
  emitted: EventSpec[],
  signal: AbortSignal,
): CallContext {
  const { call, subject, context } = attempt
  return Object.freeze({
    invocationId: call.invocationId,
    idempotencyKey: idempotencyKeyOf(deps.digest, recordKey(call)),
    correlation: deepFreeze(call.correlation),
    subject: deepFreeze({ ...subject }),
    actor: deepFreeze(call.actor),
    purpose: call.purpose ?? null,
    context: context.value,
    signal,
    secret: (name: string) => secretOf(deps, attempt, descriptor, name),
    spent: (cost: number | string) => spend(attempt, cost),
    emit: (type: string, payload: { readonly [key: string]: Json }) =>
      emit(emitted, type, payload, attempt, descriptor.emits),
  })
}

async function secretOf(
  deps: Deps,
  { credentials }: Asked,
  { metadata }: CapabilityDescriptor,
  name: string,
): Promise<string> {
  if (!Object.hasOwn(metadata?.credentials ?? {}, name))
    throw new Failure('secret.not_found', `the capability does not name the secret ${quote(name)}`, { name })
  const value = (await deps.secret(`secret:${name}`)).reveal()
  credentials.add(value)
  return value
}

function emit(
  emitted: EventSpec[],
  type: string,
  payload: { readonly [key: string]: Json },
  attempt: Attempt,
  declared: readonly string[],
): void {
  checkEmitted(type, payload, attempt, declared)
  if (emitted.length >= limits.emittedEventsMax)
    throw new Failure('field.invalid', `a call emits at most ${limits.emittedEventsMax} events`)
  const copy = copyEvent(payload, 'payload')
  checkWords(copy, 'the payload of an event')
  emitted.push({ type, payload: copy, foreign: true })
}

function checkEmitted(type: string, payload: object, attempt: Asked, emits: readonly string[]): void {
  if (!mayEmit(type, emits))
    throw new Failure(
      'field.invalid',
      `the capability does not declare the event type ${quote(type)}`,
      {},
      'add it to `emits`',
    )
  if (!emits.includes(type) && scrubText(type, secretsOf(attempt)) !== type)
    throw new Failure('field.invalid', 'an event type holds a sensitive value of the call')
  if (Object.hasOwn(payload, 'decision'))
    throw new Failure('field.invalid', 'an event payload has the member `decision`, the place of the call record')
}

const reserved = /^(?:execution|approval|safety|key|evidence|identity)_|^budget_exceeded$|^(?:ambit|chp)\./

/** Declared types, or reverse-DNS ones that can only be the author's own; never those of the protocol or ours. */
const mayEmit = (type: string, declared: readonly string[]): boolean =>
  !reserved.test(type) && (declared.includes(type) || /^[a-z][a-z0-9-]*(?:\.[a-z0-9_-]+){2,}$/.test(type))
