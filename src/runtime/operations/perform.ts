import { parseAs } from '../../model/parse.ts'
import { schemaOf } from '../../model/schemas.ts'
import { entryAt, type Operation } from '../../operations/operation.ts'
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
  return admit(...asked)()
}

async function* itemsOf(asked: Asked) {
  yield* await openItems(...asked)
}
