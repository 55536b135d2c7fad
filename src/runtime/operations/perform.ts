import { parseAs } from '../../model/parse.ts'
import { schemaOf } from '../../model/schemas.ts'
import { entryAt, type Operation } from '../../operations/operation.ts'
import { approvalHandlers } from './approvals.ts'
import { callHandlers } from './calls.ts'
import { demandRight, type HandlersOf, type OperationContext } from './context.ts'
import { evidenceHandlers } from './evidence.ts'
import { identityHandlers } from './identity.ts'

const handlers: HandlersOf = {
  ...callHandlers,
  ...approvalHandlers,
  ...evidenceHandlers,
  ...identityHandlers,
}

/** Carries one operation out for a caller: the right first, then the shape of the input, then what it does. */
export function performOperation(
  context: OperationContext,
  path: readonly string[],
  operation: Operation,
  input: unknown,
): unknown {
  demandRight(context, operation)
  const checked = parseAs(schemaOf(operation.input), input, 'request')
  return entryAt<(context: OperationContext, input: unknown) => unknown>(handlers, path)(context, checked)
}
