import type { Json } from '../../base/canonical.ts'
import { defined, type JsonObject } from '../../base/object.ts'
import type { Capability } from '../../gateway/capability.ts'
import { type JsonSchema, readSchema, type SchemaLike } from '../../gateway/schema-like.ts'
import type { LlmAgent, Pipeline, Step } from '../../model/agent.ts'
import { asModel } from '../../models/ai-sdk.ts'
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
    | (Pick<LlmAgent, 'instruction' | 'resources' | 'contextWrite' | 'session'> & {
        readonly kind?: 'llm'
        /** A model of the AI SDK, one of ours, or the name of a configured one. */
        readonly model?: unknown
        readonly tools?: readonly Tool[]
      })
    | { readonly kind: 'tool'; readonly run: AgentCode }
    | { readonly kind: 'tool'; readonly capability: string }
    | (Pick<Extract<Pipeline, { kind: 'sequential' }>, 'output' | 'until' | 'maxIterations'> & {
        readonly kind: 'sequential' | 'parallel'
        readonly steps: readonly (Omit<Step, 'agent'> & { readonly agent?: Agent })[]
      })
  )

/** What an agent in code says, whichever its kind is: what is out of place is refused when its manifest is read. */
interface AnySpec extends Common {
  readonly kind?: string
  readonly model?: unknown
  readonly run?: AgentCode
  readonly tools?: readonly Tool[]
  readonly steps?: readonly (Step & { readonly agent?: Agent })[]
}

/** An agent in code. What a file can say is checked like a file. */
export function defineAgent(spec: AgentSpec): Agent {
  const { version = '1.0.0', kind = 'llm', input, output, model, run, tools, steps, ...plain } = spec as AnySpec
  const isPipeline = kind === 'sequential' || kind === 'parallel'
  const manifest = defined({
    ...{ ...plain, version, kind },
    model: typeof model === 'string' || kind !== 'llm' ? inWords(model) : undefined,
    run: kind === 'tool' ? undefined : inWords(run),
    tools: tools?.map(toolIdOf),
    steps: steps?.map(({ agent, ...step }) => (agent ? { ...step, ref: agent.definition.manifest.id } : step)),
    output: isPipeline ? output : undefined,
  })
  return agentOf(readManifest(manifest, 'defineAgent'), {
    ...{ input, run },
    output: isPipeline ? undefined : output,
    model: model === undefined || typeof model === 'string' ? undefined : asModel(model),
    agents: [...(tools ?? []).filter(isAgent), ...(steps ?? []).flatMap(({ agent }) => agent ?? [])],
    capabilities: (tools ?? []).filter((tool) => typeof tool !== 'string' && 'descriptor' in tool),
  })
}

/** What an agent has beside its manifest. */
interface InCode extends Partial<Pick<Agent, 'model' | 'run' | 'agents' | 'capabilities'>> {
  readonly input?: SchemaLike | undefined
  readonly output?: SchemaLike | undefined
}

/** An agent with those that stand in its steps. Of one from a file its manifest is all there is. */
export function agentOf(definition: AgentDefinition, code: InCode = {}): Agent {
  const { model, run, agents = [], capabilities = [] } = code
  const { inputSchema, outputSchema } = definition.manifest
  const inline = stepsOf(definition).flatMap((step) => (step.inline === undefined ? [] : agentOf(step.inline)))
  return Object.freeze({
    ...{ definition, model, run, capabilities },
    input: edgeOf(code.input ?? (inputSchema as JsonSchema | undefined), 'input'),
    output: edgeOf(code.output ?? (outputSchema as JsonSchema | undefined), 'output'),
    agents: [...agents, ...inline],
  })
}

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
