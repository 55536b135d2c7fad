import type { InvokeAnswer } from '../../model/requests.ts'
import { jsonSchemaOf } from '../../model/schemas.ts'
import { operations } from '../../operations/table.ts'
import { packRecords } from '../../storage/tables/registry.ts'
import { mayInvoke } from '../contract/invoke.ts'
import { hasName } from '../identity/caller.ts'
import type { OperationContext } from './context.ts'
import { performOperation } from './perform.ts'

/** How a client that calls tools puts a request to an agent. */
export interface AgentTool {
  readonly description: string
  readonly inputSchema: { readonly [key: string]: unknown }
  invoke(input: unknown): Promise<InvokeAnswer>
}

/** For a caller with a name whose key reaches it, in a tenant that has a pack to name; nobody else is shown it. */
export async function agentToolFor(context: OperationContext): Promise<AgentTool | undefined> {
  const { ambit, caller } = context
  if (!hasName(caller) || !mayInvoke(caller)) return undefined
  const { items } = await ambit.store.read(() => packRecords.list(caller.tenant, { limit: 1 }))
  if (items.length === 0) return undefined
  const { $id, $schema, title, description, ...inputSchema } = jsonSchemaOf('invoke-agent-request')
  const { invokeAgent: operation } = operations
  return {
    description: `${String(description)} Answers its decision record.`,
    inputSchema,
    invoke: (input) => performOperation(context, ['invokeAgent'], operation, input) as Promise<InvokeAnswer>,
  }
}
