import type { Json } from '../base/canonical.ts'
import type { LlmAgent, Pipeline, ResourceEntry, ToolAgent } from '../model/agent.ts'
import type { Condition } from './condition.ts'
import type { TextTemplate, ValueTemplate } from './template.ts'

/** An agent as its manifest says it: checked, with its templates parsed, and frozen. */
export type AgentDefinition = LlmDefinition | ToolDefinition | PipelineDefinition

export interface LlmDefinition {
  readonly kind: 'llm'
  readonly manifest: LlmAgent
  readonly instruction: TextTemplate
  /** In the order of the manifest. */
  readonly resources: readonly DeclaredResource[]
}

export interface ToolDefinition {
  readonly kind: 'tool'
  readonly manifest: ToolAgent
}

export interface PipelineDefinition {
  readonly kind: 'sequential' | 'parallel'
  readonly manifest: Pipeline
  readonly steps: readonly PipelineStep[]
  readonly output: ValueTemplate | undefined
  readonly until: Condition | undefined
  readonly passesMax: number
}

export interface DeclaredResource extends Pick<ResourceEntry, 'mode' | 'expose' | 'delegate'> {
  readonly name: string
  /** The name, unless the manifest says another. */
  readonly kind: string
  /** Lowers the grants to these; without it they are not lowered. */
  readonly branches: readonly string[] | undefined
  readonly required: boolean
  /** For the provider: what the entry has as `config`, with all its keys that are not ours. */
  readonly config: Json | undefined
}

export interface PipelineStep {
  readonly id: string
  readonly stateKey: string
  /** The id of the agent that runs. */
  readonly agent: string
  /** The same agent, where it stands whole in the step: it is registered with its pipeline. */
  readonly inline: AgentDefinition | undefined
  readonly input: ValueTemplate | undefined
  readonly when: Condition | undefined
  readonly narrow: readonly string[] | undefined
}

/** Agents of other kinds declare none. */
export const resourcesOf = (agent: AgentDefinition): readonly DeclaredResource[] =>
  agent.kind === 'llm' ? agent.resources : []

/** Agents that are no pipeline have none. */
export const stepsOf = (agent: AgentDefinition): readonly PipelineStep[] => ('steps' in agent ? agent.steps : [])
