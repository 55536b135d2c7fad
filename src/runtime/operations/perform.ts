import { parseAs } from '../../model/parse.ts'
import { schemaOf } from '../../model/schemas.ts'
import { entryAt, type Operation, routeOf } from '../../operations/operation.ts'
import { operations } from '../../operations/table.ts'
import { isRefusal, recordRefusal } from '../evidence/refusals.ts'
import { hasName } from '../identity/caller.ts'
import { approvalHandlers } from './approvals.ts'
import { callHandlers } from './calls.ts'
import { demandRight, type HandlersOf, type OperationContext } from './context.ts'
import { contractHandlers } from './contract.ts'
import { evidenceHandlers } from './evidence.ts'
import { identityHandlers } from './identity.ts'
import { runHandlers } from './runs.ts'

const handlers: HandlersOf = {
  ...callHandlers,
  ...runHandlers,
  ...approvalHandlers,
  ...contractHandlers,
  ...evidenceHandlers,
  ...identityHandlers,
}

type Asked = readonly [context: OperationContext, path: readonly string[], operation: Operation, input: unknown]

/** Carries one operation out for a caller: the right first, then the shape of the input, then what it does. */
export function performOperation(...asked: Asked): unknown {
  const [, , operation] = asked
  return operation.stream ? itemsOf(asked) : answerOf(asked)
}

/** The items of a stream. Fails before the first of them where there are none to be had. */
export const openItems = async (...asked: Asked): Promise<Items> => (await admit(...asked)()) as Items

type Items = AsyncIterable<unknown>

function admit(...[context, path, operation, input]: Asked): () => unknown {
  demandRight(context, operation)
  const checked = parseAs(schemaOf(operation.input), input, 'request')
  return () => entryAt<(context: OperationContext, input: unknown) => unknown>(handlers, path)(context, checked)
}

async function answerOf(asked: Asked): Promise<unknown> {
  try {
    return await admit(...asked)()
  } catch (error) {
    await recordEntry(asked, error)
    throw error
  }
}

/** A run that is not let in is on record at every door. A server keeps that record itself: it refuses earlier, too. */
async function recordEntry(
  [{ ambit, caller, place, recordsRefusals }, , operation]: Asked,
  error: unknown,
): Promise<void> {
  if (recordsRefusals === true || !startsRun(operation) || !isRefusal(error) || !hasName(caller)) return
  const { method, path } = routeOf(operation)
  await recordRefusal(ambit, caller, error, { method, route: path, traceId: place?.traceId })
}

const startsRun = (operation: Operation): boolean =>
  operation === operations.invokeAgent || operation === operations.runs.start

async function* itemsOf(asked: Asked) {
  yield* await openItems(...asked)
}
