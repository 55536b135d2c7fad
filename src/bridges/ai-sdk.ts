// What `import 'ambit/ai-sdk'` gives, for the AI SDK (`ai`).

import { tool as aiTool, asSchema, type FlexibleSchema, jsonSchema, type Tool } from 'ai'
import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import type { CallCaller } from '../gateway/call.ts'
import { type CallContext, type Capability, type CapabilitySpec, defineCapability } from '../gateway/capability.ts'
import type { JsonSchema, SchemaLike, StandardSchema } from '../gateway/schema-like.ts'
import { type BridgeOptions, type Door, openBridge } from './bridge.ts'

export type { BridgeOptions, Door } from './bridge.ts'

type Input = Record<string, unknown>

/**
 * The `tools` of `generateText`, `streamText` or an agent: what this principal may use, called through the gateway. They
 * answer text for the model: data in a fence, or why there is none.
 */
export function toAISDKTools(
  door: Door,
  principal: CallCaller,
  options?: BridgeOptions,
): Record<string, Tool<Input, string>> {
  const bridge = openBridge(door, principal, options)
  return Object.fromEntries(
    bridge.tools.map((tool) => [
      tool.name,
      aiTool<Input, string, Record<string, unknown>>({
        description: tool.description,
        inputSchema: jsonSchema<Input>(tool.inputSchema as Parameters<typeof jsonSchema>[0]),
        execute: async (input, { toolCallId, abortSignal }) =>
          (await bridge.call(tool, input, { toolCallId, signal: abortSignal })).text,
      }),
    ]),
  )
}

/** What a tool does not say of itself: what it is called here, and under which policy. */
export interface FromAISDKTool extends Omit<CapabilitySpec, 'input' | 'output' | 'description'> {
  /** The tool's own unless given. */
  readonly description?: string
  /** What the tool gets as its `context`. */
  readonly toolContext?: unknown
}

/**
 * A tool of the AI SDK as a capability, called through the gateway. Without `policy` every call is denied. A tool with
 * `needsApproval`, `true` or a function, asks people at every call, unless `policy` or `autonomy` say something about
 * approval. The results of a streaming tool are chunks, and the last chunk is the result.
 */
export function fromAISDKTool(tool: Tool, { toolContext, ...spec }: FromAISDKTool): Capability {
  const { execute, needsApproval = false } = tool
  const asks = needsApproval !== false && spec.policy?.approval_required === undefined
  const description = spec.description ?? tool.description
  if (execute === undefined) throw invalid(spec.id, 'the tool has no `execute`: nothing here could carry it out')
  if (typeof description !== 'string') throw invalid(spec.id, 'give a `description`: the tool has none that is text')
  const options = ({ invocationId, signal }: CallContext) => ({
    toolCallId: invocationId,
    messages: [],
    abortSignal: signal,
    context: toolContext,
  })
  return defineCapability(
    {
      ...spec,
      // Not by its policy: where it has none, one of the host may let it be called.
      ...(asks && { autonomy: { ...spec.autonomy, tier: spec.autonomy?.tier ?? 'approval_required' } }),
      description,
      input: readable(spec.id, tool.inputSchema),
      ...(tool.outputSchema && { output: readable(spec.id, tool.outputSchema) }),
    },
    (input, call) => {
      const result: unknown = execute(input, options(call))
      return isIterable(result) ? chunksOf(result) : result
    },
  )
}

/** Schemas that can tell themselves as JSON Schema of today are taken as they are, all others as the AI SDK reads them. */
function readable(id: string, schema: FlexibleSchema): SchemaLike {
  if (isSelfTelling(schema)) return schema
  const { jsonSchema, validate } = asSchema(schema)
  if ('then' in jsonSchema) throw invalid(id, 'its schema is made only later: give the tool one that is there')
  const { $schema: _, ...json } = jsonSchema as JsonSchema
  if (validate === undefined) return json
  return {
    '~standard': {
      version: 1,
      vendor: 'ai',
      validate: async (value) => {
        const read = await validate(value)
        return read.success ? { value: read.value } : { issues: [{}] }
      },
      jsonSchema: { input: () => json },
    },
  }
}

const isSelfTelling = (schema: unknown): schema is StandardSchema =>
  (schema as Partial<StandardSchema>)['~standard']?.jsonSchema !== undefined

const isIterable = (value: unknown): value is AsyncIterable<Json> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

async function* chunksOf(results: AsyncIterable<Json>): AsyncGenerator<Json, Json, undefined> {
  let last: Json = null
  for await (const result of results) {
    yield result
    last = result
  }
  return last
}

const invalid = (id: string, why: string): Failure =>
  new Failure('capability.invalid', `capability ${quote(id)}: ${why}`, { id })
