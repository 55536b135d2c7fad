import type { Json } from '../../base/canonical.ts'
import { defined, type JsonObject } from '../../base/object.ts'
import type { Capability } from '../../gateway/capability.ts'
import { type JsonSchema, readSchema, type SchemaLike } from '../../gateway/schema-like.ts'
import type { ResourceEntry, Step } from '../../model/agent.ts'
import { asModel } from '../../models/model.ts'
import { problemText } from '../../policy/schema/problems.ts'
import { compileSchema } from '../../policy/schema/schema.ts'
import { agentToolId } from '../../runs/agents.ts'
import { type AgentDefinition, stepsOf } from '../../runs/definition.ts'
import { readManifest } from '../../runs/manifest.ts'
import type { Model } from '../../runs/turn.ts'
import type { AgentCode } from '../loop/code.ts'

/** An agent: what its manifest says, and what only code can say. */
export interface Agent {
  readonly definition: AgentDefinition
  readonly model: Model | undefined
  readonly run: AgentCode | undefined
  readonly input: EdgeSchema | undefined
  readonly output: EdgeSchema | undefined
  /** What it names as objects: they are offered with it. */
  readonly agents: readonly Agent[]
  readonly capabilities: readonly Capability[]
}

/** A schema at the edge of a run. `check` says what is wrong with a value, if anything is. */
export interface EdgeSchema {
  readonly json: JsonSchema
  readonly check: (value: Json) => Promise<string | undefined>
}

interface Common {
  readonly id: string
  /** `1.0.0` unless said. */
  readonly version?: string
  /** What a model is told that may call this agent as a tool. */
  readonly description?: string
  readonly input?: SchemaLike
  readonly output?: SchemaLike
}

type Tool = string | Capability | Agent

export type AgentSpec = Common &
  (
    | {
        readonly kind?: 'llm'
        readonly instruction: string
        /** A model of the AI SDK, one of ours, or the name of a configured one. */
        readonly model?: unknown
        readonly tools?: readonly Tool[]
        readonly resources?: Readonly<Record<string, ResourceEntry>>
        readonly contextWrite?: boolean
        readonly session?: { readonly maxMessages?: number; readonly strategy?: 'window' | 'none' }
      }
    | { readonly kind: 'tool'; readonly run: AgentCode }
    | { readonly kind: 'tool'; readonly capability: string }
    | {
        readonly kind: 'sequential' | 'parallel'
        readonly steps: readonly (Omit<Step, 'agent'> & { readonly agent?: Agent })[]
        readonly output?: unknown
        readonly until?: string
        readonly maxIterations?: number
      }
  )

/** An agent in code. What a file can say is checked like a file. */
export function defineAgent(spec: AgentSpec): Agent {
  const {
    version = '1.0.0',
    kind = 'llm',
    input,
    output,
    ...rest
  } = spec as unknown as Common & Record<string, unknown>
  const { model, run, tools, steps, ...plain } = rest
  const listed = (tools ?? []) as readonly Tool[]
  const stepped = ((steps ?? []) as readonly (Step & { agent?: Agent })[]).map(({ agent, ...step }) =>
    agent === undefined ? step : { ...step, ref: agent.definition.manifest.id },
  )
  const isPipeline = kind === 'sequential' || kind === 'parallel'
  const manifest = defined({
    ...{ ...plain, version, kind },
    // What is out of place in an agent of this kind is refused by its name, as in a file.
    model: typeof model === 'string' || kind !== 'llm' ? inWords(model) : undefined,
    run: kind === 'tool' ? undefined : inWords(run),
    tools: tools === undefined ? undefined : listed.map(toolIdOf),
    steps: steps === undefined ? undefined : stepped,
    ...(isPipeline && { output }),
  })
  const definition = readManifest(manifest, 'defineAgent')
  const { inputSchema, outputSchema } = definition.manifest
  return Object.freeze({
    definition,
    input: edgeOf(input ?? (inputSchema as JsonSchema | undefined), 'input'),
    output: edgeOf(
      isPipeline ? (outputSchema as JsonSchema | undefined) : ((output ?? outputSchema) as SchemaLike | undefined),
      'output',
    ),
    model: model === undefined || typeof model === 'string' ? undefined : asModel(model),
    run: run as AgentCode | undefined,
    agents: [...listed.filter(isAgent), ...((steps ?? []) as { agent?: Agent }[]).flatMap(({ agent }) => agent ?? [])],
    capabilities: listed.filter((tool): tool is Capability => typeof tool !== 'string' && 'descriptor' in tool),
  })
}

/** An agent whose manifest is all there is of it, such as one from a file, with those that stand in its steps. */
export const agentOf = (definition: AgentDefinition): Agent =>
  Object.freeze({
    definition,
    model: undefined,
    run: undefined,
    capabilities: [],
    input: edgeOf(definition.manifest.inputSchema as JsonSchema | undefined, 'inputSchema'),
    output: edgeOf(definition.manifest.outputSchema as JsonSchema | undefined, 'outputSchema'),
    agents: stepsOf(definition).flatMap(({ inline }) => (inline === undefined ? [] : agentOf(inline))),
  })

/** What only code can hold, as a word in its place. */
const inWords = (value: unknown): string | undefined =>
  value === undefined || typeof value === 'string' ? value : 'code'

const isAgent = (tool: Tool): tool is Agent => typeof tool !== 'string' && 'definition' in tool

const toolIdOf = (tool: Tool): string => {
  if (typeof tool === 'string') return tool
  return isAgent(tool) ? agentToolId(tool.definition.manifest.id) : tool.descriptor.id
}

function edgeOf(schema: SchemaLike | undefined, member: string): EdgeSchema | undefined {
  if (schema === undefined) return undefined
  const { json, validate } = readSchema(schema, member)
  const problemsIn = compileSchema(json as JsonObject)
  return {
    json,
    check: async (value) => {
      const problems = problemsIn(value)
      if (problems.length > 0) return problemText(problems)
      const found = await validate?.(structuredClone(value))
      return found?.issues === undefined ? undefined : 'it is not what the schema takes'
    },
  }
}
