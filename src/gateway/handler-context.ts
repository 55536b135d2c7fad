import { micro } from '../base/amount.ts'
import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from '../evidence/copy.ts'
import { scrubText } from '../evidence/redaction/redact.ts'
import { deepFreeze } from '../policy/contract.ts'
import { type Attempt, type EventSpec, type Resolved, secretsOf } from './attempt.ts'
import { recordKey } from './call.ts'
import type { CallContext } from './capability.ts'
import type { GatewayDeps } from './deps.ts'
import { checkWords } from './events.ts'

/** The same for every attempt at a call. */
export const idempotencyKeyOf = (digest: GatewayDeps['digest'], key: string): string =>
  digest(['ambit-idempotency-v1', key])

/** What a handler is told of its call, and may do with it: an object that may be passed on whole. */
export function handlerContext(attempt: Resolved, emitted: EventSpec[], signal: AbortSignal): CallContext {
  const { deps, call, subject, context } = attempt
  return Object.freeze({
    invocationId: call.invocationId,
    idempotencyKey: idempotencyKeyOf(deps.digest, recordKey(call)),
    correlation: deepFreeze(call.correlation),
    subject: deepFreeze({ ...subject }),
    actor: deepFreeze(call.actor),
    purpose: call.purpose ?? null,
    context: context.value,
    signal,
    secret: (name: string) => secretOf(attempt, name),
    spent: (cost: number | string) => spend(attempt, cost),
    emit: (type: string, payload: Payload) => void emitted.push(emittedEvent(attempt, emitted, type, payload)),
  })
}

type Payload = { readonly [key: string]: Json }

async function secretOf({ deps, capability, credentials }: Resolved, name: string): Promise<string> {
  if (!Object.hasOwn(capability.descriptor.metadata?.credentials ?? {}, name))
    throw new Failure('secret.not_found', `the capability does not name the secret ${quote(name)}`, { name })
  const value = (await deps.secret(`secret:${name}`)).reveal()
  credentials.add(value)
  return value
}

function spend({ taken }: Attempt, cost: number | string): void {
  if (!/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/.test(String(cost)))
    throw new Failure('field.invalid', 'a cost is a whole number or decimal text, and not negative')
  taken.cost = micro(cost, 'up')
}

function emittedEvent(attempt: Resolved, emitted: readonly EventSpec[], type: string, payload: Payload): EventSpec {
  checkEmitted(type, payload, attempt)
  if (emitted.length >= limits.emittedEventsMax)
    throw new Failure('field.invalid', `a call emits at most ${limits.emittedEventsMax} events`)
  const copy = copyEvent(payload, 'payload')
  checkWords(copy, 'the payload of an event')
  return { type, payload: copy, foreign: true }
}

function checkEmitted(type: string, payload: object, attempt: Resolved): void {
  const { emits } = attempt.capability.descriptor
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
